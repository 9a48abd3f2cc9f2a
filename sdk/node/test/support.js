/** Documents and a small machine that several tests need. */

import { readFileSync } from 'node:fs';

import { pack, unpack } from '../src/frames.js';
import { Holdings } from '../src/holdings.js';
import { Link } from '../src/link.js';
import { completed } from '../src/results.js';

const FILE = new URL('../../../src/turnout/wire/vectors/messages.json', import.meta.url);

/** The messages that every language tests itself with; MessagePack is not spoken here. */
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

/** A link whose hub is the test, and whose clock is moved by it. */
export class LinkUnderTest {
  now = 100_000;
  session = '';
  holdings = new Holdings();

  constructor({ isOrphan } = {}) {
    let greetings = 0;
    const hello = { versions: ['1.0'], worker_id: 'w', codecs: ['json'], handlers: ['*'] };
    this.link = new Link(hello, this.holdings, { credits: 4, nextGreeting: () => (greetings += 1), isOrphan });
  }

  /** Opens the link, and answers its hello. */
  letIn(changes = {}) {
    this.link.open(this.now);
    const { seq } = this.said().at(-1)[1];
    const body = welcome(seq, changes);
    this.session = body.session;
    return this.hear('welcome', body);
  }

  hear(kind, body, session = this.session) {
    this.link.receive(pack(kind, body, session), this.now);
    return this;
  }

  pass(milliseconds) {
    this.now += milliseconds;
    this.link.tick(this.now);
    return this;
  }

  /** What the link has said since it was asked last, as [kind, body]. */
  said() {
    return this.link.outbox.splice(0).map((frames) => {
      const { kind, body } = unpack(frames);
      return [kind, body];
    });
  }

  kinds() {
    return this.said().map(([kind]) => kind);
  }

  did() {
    return this.link.actions.splice(0);
  }

  /** What was said and done so far does not matter. */
  settled() {
    this.said();
    this.did();
    return this;
  }

  finish(token, output = 'output') {
    this.holdings.get(token).state = 'running';
    this.holdings.finish(token, completed(this.holdings.get(token).step, output));
  }
}
