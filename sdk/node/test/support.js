/** Documents and a session that several tests need. */

import { readFileSync } from 'node:fs';

import { pack, unpack } from '../src/frames.js';
import { HeldSteps } from '../src/held-steps.js';
import { WorkerSession } from '../src/worker-session.js';
import { completed } from '../src/results.js';

const FILE = new URL('../../../src/turnout/wire/vectors/messages.json', import.meta.url);

/** The message vectors that all SDKs share; this SDK has no MessagePack. */
const vectors = JSON.parse(readFileSync(FILE, 'utf8'));
export const messages = vectors.messages.filter((each) => each.codec === 'json');
/** Those that a worker may meet. */
export const unreadable = vectors.unreadable.filter((each) => each.codec === 'json' && each.reader !== 'hub');

export const framesOf = ({ frames, frames_hex: hex }) =>
  frames === undefined ? hex.map((each) => Buffer.from(each, 'hex')) : frames.map((each) => Buffer.from(each));

/** A step as a hub sends it. */
export const step = (token, metadata = {}, handler = 'echo') => ({
  step_id: token.split('.')[0],
  task_id: 'run',
  step_name: 'step',
  handler_class: handler,
  handler_config: {},
  task_context: {},
  previous_results: {},
  metadata: { token, attempt: 0, ...metadata },
});

export const batch = (steps, id = 'b1') => ({ batch_id: id, protocol_version: '1.0', steps });

export const welcome = (seq, changes = {}) => ({
  protocol_version: '1.0',
  session: `s${seq}`,
  seq,
  hub_id: 'hub',
  codec: 'json',
  heartbeat_ms: 5_000,
  lease_ms: 15_000,
  resend_ms: 2_000,
  max_message_bytes: 16 * 1024 * 1024,
  hubs: [],
  release: [],
  ...changes,
});

/** A session whose hub is the test; the test moves its clock. */
export class SessionUnderTest {
  now = 100_000;
  sessionId = '';
  heldSteps = new HeldSteps();

  constructor({ isOrphan } = {}) {
    let helloSeq = 0;
    const hello = { versions: ['1.0'], worker_id: 'w', codecs: ['json'], handlers: ['*'] };
    const more = { credits: 4, nextHelloSeq: () => (helloSeq += 1), isOrphan };
    this.session = new WorkerSession(hello, this.heldSteps, more);
  }

  /** Opens the session, and answers its hello. */
  welcomeWorker(changes = {}) {
    this.session.open(this.now);
    const { seq } = this.sent().at(-1)[1];
    const body = welcome(seq, changes);
    this.sessionId = body.session;
    return this.receive('welcome', body);
  }

  receive(kind, body, session = this.sessionId) {
    this.session.receive(pack(kind, body, session), this.now);
    return this;
  }

  pass(milliseconds) {
    this.now += milliseconds;
    this.session.report(this.heldSteps.takeChanged(), this.now);
    this.session.tick(this.now);
    return this;
  }

  /** Returns the messages of the session since the last call, as [kind, body]. */
  sent() {
    return this.session.outbox.splice(0).map((frames) => {
      const { kind, body } = unpack(frames);
      return [kind, body];
    });
  }

  kinds() {
    return this.sent().map(([kind]) => kind);
  }

  actions() {
    return this.session.actions.splice(0);
  }

  /** Drops the messages and actions until now. */
  cleared() {
    this.sent();
    this.actions();
    return this;
  }

  finish(token, output = 'output') {
    this.heldSteps.begin(this.heldSteps.get(token));
    this.heldSteps.finish(token, completed(this.heldSteps.get(token).step, output));
  }
}
