/** Runs the session of a worker with one hub without a socket: frames and time in, frames and actions out. */

import { drainRequested, hubClosed, reconnect, sessionOpened, stop } from './actions.js';
import { Contact } from './contact.js';
import { CODEC, Malformed, OverLimit, UnknownKind, pack, unpack } from './frames.js';
import { NEVER } from './held-steps.js';
import { Report } from './report.js';

const HELLO_INTERVAL = 2_000;
/** The share of the lease after which a worker that had no answer begins nothing. */
const FENCE = 0.8;
const DEFAULT_LEASE = 15_000;
/** The shortest interval in milliseconds that a hub can set. */
const MIN_INTERVAL = 10;
/** Bytes of a message besides its body, encryption included. */
const ENVELOPE_BYTES = 1_024;

/** One worker's side of its sessions with one hub. The owner of the socket empties `outbox` and `actions` each time. */
export class WorkerSession {
  /** @type {'closed' | 'greeting' | 'open' | 'refused'} */
  state = 'closed';
  hub = '';
  hubs = [];
  lease = DEFAULT_LEASE;
  malformed = 0;
  /** The hub has sent a message over the limit. The next may cost as much, so the backoff only grows. */
  overLimit = false;
  /** The number of the last hello. */
  helloSeq = 0;
  /** @type {Buffer[][]} */
  outbox = [];
  actions = [];
  #hello;
  #heldSteps;
  #credits;
  #nextHelloSeq;
  #isOrphan;
  #sessionId = '';
  #contact = new Contact();
  #opened = NEVER;
  #helloSentAt = NEVER;
  #heartbeat = 0;
  #maxBytes = Infinity;
  #report = new Report(HELLO_INTERVAL, Infinity);
  /** The time at which all own steps are checked for what is due. */
  #reportDue = NEVER;

  /**
   * @param {object} hello the fields of hello that stay the same
   * @param {import('./held-steps.js').HeldSteps} heldSteps
   * @param {{credits: number, nextHelloSeq: () => number, isOrphan?: (heldStep: object) => boolean}} more
   *   `nextHelloSeq` numbers the connections of the process; `isOrphan` returns true for a step of a
   *   hub that the worker has no session with any more
   */
  constructor(hello, heldSteps, { credits, nextHelloSeq, isOrphan = () => false }) {
    this.#hello = hello;
    this.#heldSteps = heldSteps;
    this.#credits = credits;
    this.#nextHelloSeq = nextHelloSeq;
    this.#isOrphan = isOrphan;
  }

  get isOpen() {
    return this.state === 'open';
  }

  get isRefused() {
    return this.state === 'refused';
  }

  /** Called when there is a new connection: sends hello. */
  open(now) {
    this.#sessionId = '';
    this.state = 'greeting';
    this.helloSeq = this.#nextHelloSeq();
    this.#opened = now;
    this.#sendHello(now);
  }

  /** Returns whether steps of this hub may begin: it cannot have given them to other workers yet. */
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

  /** Sends a heartbeat now, with the steps that are held here. */
  sendHeartbeat(now) {
    if (!this.isOpen) return;
    this.#send('heartbeat', { seq: this.#contact.record(now), credits: this.#credits, in_flight: this.#listed() });
  }

  /** Ends the session of a lost connection. */
  connectionLost(reason) {
    this.#reconnect(reason);
  }

  /** Called when the hub refuses the connection: messages sent on it would not be read. */
  refuse(reason) {
    if (this.isRefused) return;
    this.state = 'refused';
    this.actions.push(hubClosed(reason));
  }

  bye(reason) {
    if (this.isOpen) this.#send('bye', { reason });
  }

  /** Sends what is new about those of these held steps that are this hub's. */
  report(changed, now) {
    if (!this.isOpen) return;
    this.#reportDue = Math.min(this.#reportDue, this.#sendDue(changed.filter((each) => this.#isOwn(each)), now));
  }

  /**
   * Makes the next `tick` check all own steps: the hubs that the worker has a session with have changed, and so may have
   * the steps without one.
   */
  checkAll() {
    this.#reportDue = NEVER;
  }

  /** Sends what is due by time. */
  tick(now) {
    if (this.state === 'greeting') {
      if (now - this.#opened >= this.#fence) this.#reconnect('no answer to hello');
      else if (now - this.#helloSentAt >= HELLO_INTERVAL) this.#sendHello(now);
    } else if (this.isOpen) {
      const silence = now - this.#contact.last;
      if (silence >= this.#fence) {
        this.#reconnect(`no answer for ${(silence / 1000).toFixed(1)} s`);
        return;
      }
      if (now - this.#contact.heartbeatSentAt >= this.#heartbeat) this.sendHeartbeat(now);
      if (now >= this.#reportDue) this.#reportDue = this.#sendDue(this.#ownSteps(), now);
    }
  }

  /** The time of the next `tick` that has something to do, if nothing else happens before. */
  get nextDue() {
    if (this.state === 'greeting') return Math.min(this.#helloSentAt + HELLO_INTERVAL, this.#opened + this.#fence);
    if (!this.isOpen) return Infinity;
    const { heartbeatSentAt, last } = this.#contact;
    return Math.min(heartbeatSentAt + this.#heartbeat, last + this.#fence, this.#reportDue);
  }

  /** Processes a message; never throws. */
  receive(frames, now) {
    try {
      const { kind, session, body } = unpack(frames);
      if (kind === 'welcome') this.#onWelcome(body, now);
      else if (kind === 'error') this.#onError(body, session);
      else if (this.isOpen && session === this.#sessionId) this.#onMessage(kind, body, now);
    } catch (error) {
      if (error instanceof UnknownKind) {
        if (this.isOpen && error.session === this.#sessionId) this.#sendError(error.message);
      } else if (error instanceof OverLimit) {
        this.malformed += 1;
        this.overLimit = true;
        this.#reconnect(`over_limit: ${error.message}`);
      } else if (error instanceof Malformed) {
        this.malformed += 1;
        this.#reconnect(`malformed: ${error.message}`);
      } else throw error;
    }
  }

  #onMessage(kind, body, now) {
    switch (kind) {
      case 'steps':
        return this.#onSteps(body, now);
      case 'ack':
        return this.#forget(body.tokens, 'its result has been taken');
      case 'heartbeat':
        return this.#onHeartbeat(body);
      case 'started':
        return this.#onStarted(body.granted ?? [], body.denied ?? []);
      case 'cancel':
        return this.#onCancel(body.tokens, body.reason || 'cancelled');
      case 'logged':
        return this.#heldSteps.acknowledgeLines(body.token, body.next);
      case 'drain':
        return this.actions.push(drainRequested(body.reason ?? ''));
      case 'bye':
        this.state = 'closed';
        return this.actions.push(hubClosed(body.reason ?? ''));
      default:
        return this.#sendError(`${kind} is not for a worker`);
    }
  }

  #onSteps({ batch_id: batchId, steps }, now) {
    const tokens = steps.map((step) => step.metadata.token);
    for (const step of steps) {
      if (this.#heldSteps.add(step, batchId, this.hub, now)) continue;
      const heldStep = this.#heldSteps.get(step.metadata.token);
      // Its hub is gone, and this hub has taken over.
      if (heldStep !== undefined && this.#isOrphan(heldStep)) heldStep.hub = this.hub;
    }
    this.#send('received', { tokens });
  }

  #onHeartbeat({ seq, keep = [], hubs = [] }) {
    this.#contact.acknowledge(seq);
    if (hubs.length > 0) this.hubs = hubs;
    for (const token of keep) {
      const heldStep = this.#heldSteps.get(token);
      if (heldStep !== undefined && this.#isOrphan(heldStep)) heldStep.hub = this.hub;
    }
  }

  #onStarted(granted, denied) {
    for (const token of granted) {
      const heldStep = this.#heldSteps.get(token);
      if (heldStep !== undefined) heldStep.granted = true;
    }
    this.#heldSteps.forget(denied.filter((token) => (this.#heldSteps.get(token)?.state ?? 'waiting') === 'waiting'));
  }

  #onCancel(tokens, reason) {
    for (const token of tokens) {
      const state = this.#heldSteps.get(token)?.state;
      if (state === 'waiting') this.#heldSteps.returnStep(token, reason);
      else if (state === 'running') this.actions.push(stop(token, reason));
    }
  }

  #onWelcome(body, now) {
    if (this.state !== 'greeting' || body.seq !== this.helloSeq) return;
    if (body.codec !== CODEC) throw new Malformed(`welcome.codec ${body.codec} was not offered`);
    const [heartbeat, lease, resend] = [body.heartbeat_ms, body.lease_ms, body.resend_ms].map((each) =>
      Math.max(each, MIN_INTERVAL),
    );
    this.state = 'open';
    this.#sessionId = body.session;
    this.hubs = body.hubs ?? [];
    this.#heartbeat = heartbeat;
    this.lease = lease;
    this.#maxBytes = body.max_message_bytes;
    this.#report = new Report(resend, this.#maxBytes);
    this.#contact = new Contact(this.#opened);
    const before = this.hub === '' || this.hub === body.hub_id ? null : this.hub;
    this.hub = body.hub_id;
    this.actions.push(sessionOpened(this.hub, before));
    this.#forget(body.release ?? [], 'its result is not needed any more');
    for (const each of this.#ownSteps()) each.resultSentAt = each.startSentAt = each.linesSentAt = NEVER;
    this.checkAll();
    this.sendHeartbeat(now);
  }

  #onError({ code, message = '', retry = true, tokens = [] }, session) {
    if (!['', this.#sessionId].includes(session) || !['greeting', 'open'].includes(this.state)) return;
    const reason = `${code}: ${message}`;
    if (!retry) this.refuse(reason);
    else if (['no_session', 'malformed', 'stopping'].includes(code)) this.#reconnect(reason);
    // This hub does not decide about steps of another hub: it may not know yet that the other is gone.
    else if (code === 'not_yours' && session !== '') {
      this.#heldSteps.forget(tokens.filter((each) => this.#isDone(each)));
    }
  }

  #isDone(token) {
    const heldStep = this.#heldSteps.get(token);
    return heldStep?.hub === this.hub && heldStep.state === 'done';
  }

  #sendHello(now) {
    this.#helloSentAt = now;
    const changes = { seq: this.helloSeq, credits: this.#credits, in_flight: this.#listed() };
    this.outbox.push(pack('hello', { ...this.#hello, ...changes }, ''));
  }

  /** Returns whether a step is reported to this hub: it gave the step, or the hub that did is gone. */
  #isOwn(heldStep) {
    return heldStep.hub === this.hub || this.#isOrphan(heldStep);
  }

  #ownSteps() {
    return this.#heldSteps.filter((each) => this.#isOwn(each));
  }

  /** Sends what is due about these steps. Returns the time at which there is something to send again. */
  #sendDue(ownSteps, now) {
    this.#report.due(ownSteps, now, (kind, body) => this.#send(kind, body));
    return this.#report.nextDue(ownSteps);
  }

  #listed() {
    return this.#ownSteps().map((each) => each.listed);
  }

  #forget(tokens, reason) {
    for (const token of this.#heldSteps.forget(tokens)) this.actions.push(stop(token, reason));
  }

  #reconnect(reason) {
    if (this.state === 'closed' || this.isRefused) return;
    this.state = 'closed';
    this.actions.push(reconnect(reason));
  }

  #sendError(message) {
    this.#send('error', { code: 'unknown_message', message, retry: true });
  }

  get #fence() {
    return FENCE * this.lease;
  }

  /** Returns whether the message was sent: the hub closes a connection on a message over the size limit. */
  #send(kind, body) {
    const frames = pack(kind, body, this.#sessionId);
    if (frames[2].length + ENVELOPE_BYTES > this.#maxBytes) return false;
    this.outbox.push(frames);
    return true;
  }
}
