import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';

import { Router, curveKeyPair } from 'zeromq';

import { ConfigurationError, Refused, Registry, Worker } from '../index.js';
import { pack, unpack } from '../src/frames.js';
import { batch, step, welcome } from './support.js';

/** A hub on a real socket that answers heartbeats by itself; the test sends everything else. */
class Hub {
  #socket = new Router({ linger: 0 });
  #worker = null;

  async bind() {
    await this.#socket.bind('tcp://127.0.0.1:*');
    this.address = this.#socket.lastEndpoint;
  }

  /** The body of the next message of this kind; others are skipped. */
  async next(wanted) {
    for (;;) {
      const [worker, ...frames] = await this.#socket.receive();
      const { kind, body } = unpack(frames);
      this.#worker = worker;
      if (kind === 'heartbeat') await this.send('heartbeat', { seq: body.seq });
      if (kind === wanted) return body;
    }
  }

  /** The result of this step, which may come again beside others. */
  async result(stepId) {
    for (;;) {
      const { results } = await this.next('results');
      const found = results.find((each) => each.step_id === stepId);
      if (found !== undefined) return found;
    }
  }

  send(kind, body, session = 's1') {
    return this.#socket.send([this.#worker, ...pack(kind, body, session)]);
  }

  async welcomeWorker(changes = {}) {
    const hello = await this.next('hello');
    await this.send('welcome', { ...welcome(hello.seq, changes), session: 's1' });
    return hello;
  }

  /** Closes the socket and binds another to the same address. */
  async restart() {
    this.#socket.close();
    this.#socket = new Router({ linger: 0 });
    for (;;) {
      try {
        return await this.#socket.bind(this.address);
      } catch {
        // The address is not free yet.
      }
    }
  }

  close() {
    this.#socket.close();
  }
}

let hub;
let registry;

beforeEach(async () => {
  hub = new Hub();
  await hub.bind();
  registry = new Registry();
});

afterEach(() => hub.close());

/** A logger, and the first line of its that matches. */
const logged = (pattern) => {
  let logger;
  const line = new Promise((resolve) => {
    logger = (text) => pattern.test(text) && resolve(text);
  });
  return { line, logger };
};

const started = (given = {}) => {
  const worker = new Worker({ connect: hub.address, registry, concurrency: 2, logger: () => {}, ...given });
  return { worker, ended: worker.run() };
};

test('steps are run, answered in one message, acknowledged, and the worker leaves when it is stopped', async () => {
  registry.register('echo', (each) => each.args);
  const { worker, ended } = started({ labels: { zone: 'a' } });
  const hello = await hub.welcomeWorker();
  assert.deepEqual([hello.credits, hello.handlers, hello.labels], [4, ['echo'], { zone: 'a' }]);
  await hub.send('steps', batch([step('1.1', { args: { n: 1 } }), step('2.1', { args: { n: 2 } })]));
  assert.deepEqual(await hub.next('received'), { tokens: ['1.1', '2.1'] });
  const { results } = await hub.next('results');
  assert.deepEqual(results.map((each) => each.output), [{ n: 1 }, { n: 2 }]);
  await hub.send('ack', { tokens: ['1.1', '2.1'] });
  worker.stop();
  assert.deepEqual(await hub.next('bye'), { reason: 'drained' });
  await hub.send('bye', {});
  assert.equal(await ended, 'drained');
});

test('a draining worker gives back what waits and finishes what runs', async () => {
  let open;
  const gate = new Promise((resolve) => {
    open = resolve;
  });
  registry.register('wait', () => gate);
  const { worker, ended } = started({ concurrency: 1 });
  await hub.welcomeWorker();
  await hub.send('steps', batch([step('1.1', {}, 'wait'), step('2.1', {}, 'wait')]));
  await hub.next('received');
  worker.stop();
  assert.equal((await hub.next('credit')).credits, 0);
  assert.equal((await hub.result('2')).metadata.outcome, 'returned');
  await hub.send('ack', { tokens: ['2.1'] });
  open('done');
  assert.equal((await hub.result('1')).output, 'done');
  await hub.send('ack', { tokens: ['1.1'] });
  await hub.next('bye');
  await hub.send('bye', {});
  assert.equal(await ended, 'drained');
});

test('a slot whose handler does not end is free again after the grace', async () => {
  registry.register('hang', () => new Promise(() => {}));
  registry.register('echo', () => 'here');
  const { worker, ended } = started({ concurrency: 1, killGrace: 0 });
  await hub.welcomeWorker();
  await hub.send('steps', batch([step('1.1', { timeout_ms: 5 }, 'hang'), step('2.1')]));
  const late = await hub.result('1');
  assert.equal(late.metadata.outcome, 'timed_out');
  assert.match(late.error.message, /may still run/);
  assert.equal((await hub.result('2')).output, 'here');
  worker.stop();
  worker.stop();
  assert.equal(await ended, 'stopped');
});

test('prefetched steps behind a long handler are returned', async () => {
  let open;
  const gate = new Promise((resolve) => {
    open = resolve;
  });
  registry.register('wait', () => gate);
  const { worker, ended } = started({ concurrency: 1 });
  await hub.welcomeWorker();
  await hub.send('steps', batch([step('1.1', {}, 'wait'), step('2.1', {}, 'wait'), step('3.1', {}, 'wait')]));
  assert.equal((await hub.result('3')).metadata.outcome, 'returned');
  open('done');
  assert.equal((await hub.result('2')).output, 'done');
  worker.stop();
  worker.stop();
  await ended;
});

/** A handler that keeps the event loop for so long. */
const block = (milliseconds) => {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
};

test('a step that had its turn while another kept the event loop begins only in contact', async () => {
  const events = [];
  registry.register('block', ({ token }) => {
    events.push(token);
    if (token === '1.1') block(700);
  });
  const { worker, ended } = started();
  await hub.welcomeWorker({ lease_ms: 600 });
  await hub.send('steps', batch([step('1.1', {}, 'block'), step('2.1', {}, 'block')]));
  await hub.welcomeWorker();
  events.push('in contact again');
  await hub.result('2');
  assert.deepEqual(events, ['1.1', 'in contact again', '2.1']);
  worker.stop();
  worker.stop();
  await ended;
});

test('the time of a handler counts from its own start', async () => {
  registry.register('block', () => block(300));
  registry.register('pause', () => new Promise((resolve) => setTimeout(resolve, 20, 'slept')));
  const { worker, ended } = started();
  await hub.welcomeWorker();
  await hub.send('steps', batch([step('1.1', {}, 'block'), step('2.1', { timeout_ms: 250 }, 'pause')]));
  assert.equal((await hub.result('2')).output, 'slept');
  worker.stop();
  worker.stop();
  await ended;
});

test('what is not done when the grace is over, or at the second stop, is lost', async () => {
  for (const [grace, stops] of [[0.02, 1], [30, 2]]) {
    registry = new Registry();
    registry.register('hang', () => new Promise(() => {}));
    const { worker, ended } = started({ grace });
    await hub.welcomeWorker();
    await hub.send('steps', batch([step('1.1', {}, 'hang')]));
    await hub.next('received');
    for (let count = 0; count < stops; count += 1) worker.stop();
    const { status, metadata } = await hub.result('1');
    assert.deepEqual([status, metadata.outcome], ['error', 'lost']);
    assert.equal(await ended, 'stopped');
  }
});

test('a worker that no hub wants ends with the reason', async () => {
  registry.register('echo', () => 'here');
  const { ended } = started();
  await hub.next('hello');
  await hub.send('error', { code: 'labels_refused', message: 'not with this key', retry: false }, '');
  await assert.rejects(ended, (error) => error instanceof Refused && /labels_refused/.test(error.message));
});

test('a connection that is gone is made anew at once', async () => {
  registry.register('echo', () => 'here');
  const { worker, ended } = started();
  await hub.welcomeWorker({ heartbeat_ms: 60_000, lease_ms: 180_000 });
  await hub.restart();
  assert.equal((await hub.next('hello')).seq, 2);
  worker.stop();
  worker.stop();
  await ended;
});

test("a server key that is not the hub's is logged", async () => {
  registry.register('echo', () => 'here');
  const [server, mine] = [curveKeyPair(), curveKeyPair()];
  const guarded = new Router({ linger: 0, curveServer: true, curveSecretKey: server.secretKey });
  await guarded.bind('tcp://127.0.0.1:*');
  const curve = { serverKey: mine.publicKey, publicKey: mine.publicKey, secretKey: mine.secretKey };
  const { line, logger } = logged(/fails/);
  const { worker, ended } = started({ connect: guarded.lastEndpoint, curve, logger });
  const found = await line;
  worker.stop();
  await ended;
  assert.match(found, /the encrypted connection fails; is the server key the hub's\?/);
  guarded.close();
});

test('an address that ZeroMQ does not know is a wrong option', async () => {
  registry.register('echo', () => 'here');
  await assert.rejects(started({ connect: 'tcp://nowhere' }).ended, ConfigurationError);
});

test('a worker without handlers is a mistake', () => {
  assert.throws(() => new Worker({ connect: 'tcp://127.0.0.1:1', registry: new Registry() }), /no handlers/);
});
