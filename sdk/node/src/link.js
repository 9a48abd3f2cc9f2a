/** How does a worker talk to one hub? A session without a socket: frames and time in, frames and actions out. */

import { drain, parted, reconnect, stop, welcomed } from './actions.js';
import { Contact } from './contact.js';
import { CODEC, Malformed, OverLimit, UnknownKind, pack, unpack } from './frames.js';
import { NEVER } from './holdings.js';
import { Report } from './report.js';

const RESEND_HELLO = 2_000;
/** The share of the lease after which a worker that had no answer begins nothing. */
const FENCE = 0.8;
const LEASE = 15_000;
/** No hub keeps a worker busier than that. */
const SHORTEST = 10;
/** Bytes that a message may have besides its body, encryption included. */
const ENVELOPE = 1_024;

/** One worker's side of its sessions with one hub. Who owns the socket empties `outbox` and `actions` each time. */
export class Link {
  /** @type {'closed' | 'greeting' | 'open' | 'refused'} */
  state = 'closed';
  hub = '';
  hubs = [];
  lease = LEASE;
  malformed = 0;
  /** The hub has sent a message over the limit. The next may cost as much, so the pauses before it only grow. */
  overLimit = false;
  /** The seq of the last hello. */
  greeting = 0;
  /** @type {Buffer[][]} */
  outbox = [];
  actions = [];
  #hello;
  #holdings;
  #credits;
  #nextGreeting;
  #isOrphan;
  #session = '';
  #contact = new Contact();
  #opened = NEVER;
  #greeted = NEVER;
  #heartbeat = 0;
  #mostBytes = Infinity;
  #report = new Report(RESEND_HELLO, Infinity);

  /**
   * @param {object} hello the fields of hello that stay the same
   * @param {import('./holdings.js').Holdings} holdings
   * @param {{credits: number, nextGreeting: () => number, isOrphan?: (holding: object) => boolean}} more
   *   `nextGreeting` numbers the connections of the process; `isOrphan` tells whether there is no session any more with
   *   the hub that gave a step
   */
  constructor(hello, holdings, { credits, nextGreeting, isOrphan = () => false }) {
    this.#hello = hello;
    this.#holdings = holdings;
    this.#credits = credits;
    this.#nextGreeting = nextGreeting;
    this.#isOrphan = isOrphan;
  }

  get isOpen() {
    return this.state === 'open';
  }

  get isRefused() {
    return this.state === 'refused';
  }

  /** There is a fresh connection: say hello. */
  open(now) {
    this.#session = '';
    this.state = 'greeting';
    this.greeting = this.#nextGreeting();
    this.#opened = now;
    this.#greet(now);
  }

  /** Whether steps of this hub may begin: it cannot have given them to others yet. */
  inContact(now) {
    return this.isOpen && now - this.#contact.last < this.#fence;
  }

  get credits() {
    return this.#credits;
  }

  set credits(credits) {
    if (credits === this.#credits) return;
    this.#credits = credits;
    if (this.isOpen) this.#send('credit', { seq: this.#contact.nextSeq(), credits });
  }

  progress(token, done, total, message) {
    if (this.isOpen) this.#send('progress', { token, done, total, message });
  }

  /** Let the hub know at once what is held here. */
  beat(now) {
    if (!this.isOpen) return;
    this.#send('heartbeat', { seq: this.#contact.beat(now), credits: this.#credits, in_flight: this.#listed() });
  }

  /** The connection is gone, and the session with it. */
  cut(reason) {
    this.#leave(reason);
  }

  /** The connection was not let in: nothing that is said here would be heard. */
  refuse(reason) {
    if (this.isRefused) return;
    this.state = 'refused';
    this.actions.push(parted(reason));
  }

  bye(reason) {
    if (this.isOpen) this.#send('bye', { reason });
  }

  /** Send what is due. */
  tick(now) {
    if (this.state === 'greeting') {
      if (now - this.#opened >= this.#fence) this.#leave('no answer to hello');
      else if (now - this.#greeted >= RESEND_HELLO) this.#greet(now);
    } else if (this.isOpen) {
      const silence = now - this.#contact.last;
      if (silence >= this.#fence) {
        this.#leave(`no answer for ${(silence / 1000).toFixed(1)} s`);
        return;
      }
      if (now - this.#contact.beaten >= this.#heartbeat) this.beat(now);
      this.#report.due(this.#mine(), now, (kind, body) => this.#send(kind, body));
    }
  }

  /** When `tick` has something to do again, if nothing else happens before. */
  get nextDue() {
    if (this.state === 'greeting') return Math.min(this.#greeted + RESEND_HELLO, this.#opened + this.#fence);
    if (!this.isOpen) return Infinity;
    const { beaten, last } = this.#contact;
    return Math.min(beaten + this.#heartbeat, last + this.#fence, this.#report.nextDue(this.#mine()));
  }

  /** Take a message; never throws. */
  receive(frames, now) {
    try {
      const { kind, session, body } = unpack(frames);
      if (kind === 'welcome') this.#welcomed(body, now);
      else if (kind === 'error') this.#failed(body, session);
      else if (this.isOpen && session === this.#session) this.#take(kind, body, now);
    } catch (error) {
      if (error instanceof UnknownKind) {
        if (this.isOpen && error.session === this.#session) this.#complain(error.message);
      } else if (error instanceof OverLimit) {
        this.malformed += 1;
        this.overLimit = true;
        this.#leave(`over_limit: ${error.message}`);
      } else if (error instanceof Malformed) {
        this.malformed += 1;
        this.#leave(`malformed: ${error.message}`);
      } else throw error;
    }
  }

  #take(kind, body, now) {
    switch (kind) {
      case 'steps':
        return this.#steps(body, now);
      case 'ack':
        return this.#drop(body.tokens, 'its result has been taken');
      case 'heartbeat':
        return this.#answered(body);
      case 'started':
        return this.#started(body.granted ?? [], body.denied ?? []);
      case 'cancel':
        return this.#cancel(body.tokens, body.reason || 'cancelled');
      case 'logged':
        return this.#holdings.logged(body.token, body.next);
      case 'drain':
        return this.actions.push(drain(body.reason ?? ''));
      case 'bye':
        this.state = 'closed';
        return this.actions.push(parted(body.reason ?? ''));
      default:
        return this.#complain(`${kind} is not for a worker`);
    }
  }

  #steps({ batch_id: batchId, steps }, now) {
    const tokens = steps.map((step) => step.metadata.token);
    for (const step of steps) {
      if (this.#holdings.take(step, batchId, this.hub, now)) continue;
      const held = this.#holdings.get(step.metadata.token);
      // Its hub is gone, and this one has taken its place.
      if (held !== undefined && this.#isOrphan(held)) held.hub = this.hub;
    }
    this.#send('received', { tokens });
  }

  #answered({ seq, keep = [], hubs = [] }) {
    this.#contact.answered(seq);
    if (hubs.length > 0) this.hubs = hubs;
    for (const token of keep) {
      const held = this.#holdings.get(token);
      if (held !== undefined && this.#isOrphan(held)) held.hub = this.hub;
    }
  }

  #started(granted, denied) {
    for (const token of granted) {
      const holding = this.#holdings.get(token);
      if (holding !== undefined) holding.granted = true;
    }
    this.#holdings.forget(denied.filter((token) => (this.#holdings.get(token)?.state ?? 'waiting') === 'waiting'));
  }

  #cancel(tokens, reason) {
    for (const token of tokens) {
      const state = this.#holdings.get(token)?.state;
      if (state === 'waiting') this.#holdings.giveBack(token, reason);
      else if (state === 'running') this.actions.push(stop(token, reason));
    }
  }

  #welcomed(body, now) {
    if (this.state !== 'greeting' || body.seq !== this.greeting) return;
    if (body.codec !== CODEC) throw new Malformed(`welcome.codec ${body.codec} was not offered`);
    const [heartbeat, lease, resend] = [body.heartbeat_ms, body.lease_ms, body.resend_ms].map((each) =>
      Math.max(each, SHORTEST),
    );
    this.state = 'open';
    this.#session = body.session;
    this.hubs = body.hubs ?? [];
    this.#heartbeat = heartbeat;
    this.lease = lease;
    this.#mostBytes = body.max_message_bytes;
    this.#report = new Report(resend, this.#mostBytes);
    this.#contact = new Contact(this.#opened);
    const before = this.hub === '' || this.hub === body.hub_id ? null : this.hub;
    this.hub = body.hub_id;
    this.actions.push(welcomed(this.hub, before));
    this.#drop(body.release ?? [], 'nobody waits for it any more');
    for (const each of this.#mine()) each.sent = each.asked = each.linesSent = NEVER;
    this.beat(now);
  }

  #failed({ code, message = '', retry = true, tokens = [] }, session) {
    if (!['', this.#session].includes(session) || !['greeting', 'open'].includes(this.state)) return;
    const reason = `${code}: ${message}`;
    if (!retry) this.refuse(reason);
    else if (['no_session', 'malformed', 'stopping'].includes(code)) this.#leave(reason);
    // What another hub gave is not this one's to judge: it may not have heard yet that the other is gone.
    else if (code === 'not_yours' && session !== '') this.#holdings.forget(tokens.filter((each) => this.#isDone(each)));
  }

  #isDone(token) {
    const held = this.#holdings.get(token);
    return held?.hub === this.hub && held.state === 'done';
  }

  #greet(now) {
    this.#greeted = now;
    const said = { seq: this.greeting, credits: this.#credits, in_flight: this.#listed() };
    this.outbox.push(pack('hello', { ...this.#hello, ...said }, ''));
  }

  #mine() {
    return this.#holdings.filter((each) => each.hub === this.hub || this.#isOrphan(each));
  }

  #listed() {
    return this.#mine().map((each) => each.listed);
  }

  #drop(tokens, reason) {
    for (const token of this.#holdings.forget(tokens)) this.actions.push(stop(token, reason));
  }

  #leave(reason) {
    if (this.state === 'closed' || this.isRefused) return;
    this.state = 'closed';
    this.actions.push(reconnect(reason));
  }

  #complain(message) {
    this.#send('error', { code: 'unknown_message', message, retry: true });
  }

  get #fence() {
    return FENCE * this.lease;
  }

  /** Whether it was sent: the hub closes a connection on which more comes than it takes. */
  #send(kind, body) {
    const frames = pack(kind, body, this.#session);
    if (frames[2].length + ENVELOPE > this.#mostBytes) return false;
    this.outbox.push(frames);
    return true;
  }
}
