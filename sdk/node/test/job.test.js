import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { Branch, Defer, PermanentError, Registry, RetryAfter, TimedOut, handler, runStep } from '../index.js';

const never = () => new Promise(() => {});

test('a handler sees its step, and what it returns is the output', async () => {
  const document = {
    handler_config: { size: 3 },
    task_context: { order_id: 7 },
    previous_results: { pay: { id: 'p1' } },
    metadata: { args: { name: 'a' }, positional: [1], attempt: 2, idempotency_key: 'k' },
  };
  const seen = ({ args, positional, config, context, previous, attempt, idempotencyKey, token }) => ({
    args, positional, config, context, previous, attempt, idempotencyKey, token,
  });
  const { status, output, error, metadata } = await runStep(seen, document);
  assert.deepEqual([status, error], ['completed', null]);
  assert.deepEqual(output, {
    args: { name: 'a' },
    positional: [1],
    config: { size: 3 },
    context: { order_id: 7 },
    previous: { pay: { id: 'p1' } },
    attempt: 2,
    idempotencyKey: 'k',
    token: '1.1',
  });
  assert.equal(metadata.attempt, 2);
  assert.ok(metadata.execution_time_ms >= 0);
});

test('a handler is found by its name, with its version', async () => {
  handler('greet', async (step) => `hello ${step.args.name}`, { version: '2' });
  const result = await runStep('greet', { metadata: { args: { name: 'Ada' } } });
  assert.deepEqual([result.output, result.metadata.handler_version], ['hello Ada', '2']);
});

test('a name without a handler is an error', async () => {
  const result = await runStep('missing', {}, { registry: new Registry() });
  assert.deepEqual([result.status, result.metadata.outcome], ['error', 'handler_missing']);
});

test('what a handler throws is a failure that may be tried again', async () => {
  const { status, error, metadata } = await runStep(() => JSON.parse('{'));
  assert.deepEqual([status, error.type, metadata.retryable], ['failed', 'SyntaxError', true]);
  assert.match(error.backtrace[0], /JSON\.parse/);
});

test('the classes of an error are listed, most specific first', async () => {
  class Declined extends TypeError {}
  const { error } = await runStep(() => {
    throw new Declined('no');
  });
  assert.deepEqual(error.mro, ['TypeError', 'Declined', 'Error']);
});

test('things that are no errors can be thrown too', async () => {
  for (const thrown of ['text', null, undefined, Symbol('s'), Object.create(null)]) {
    const { status, error } = await runStep(() => Promise.reject(thrown));
    assert.equal(status, 'failed');
    assert.equal(typeof error.message, 'string');
  }
});

test('a permanent error is not tried again', async () => {
  const result = await runStep(() => { throw new PermanentError('no such order'); });
  assert.deepEqual([result.error.type, result.metadata.retryable], ['PermanentError', false]);
});

test('RetryAfter asks for a pause', async () => {
  const result = await runStep(() => { throw new RetryAfter(1.5); });
  assert.deepEqual([result.status, result.metadata.retry_after_ms], ['failed', 1500]);
  assert.throws(() => new RetryAfter(-1), TypeError);
});

test('Defer frees the slot and keeps the saved value', async () => {
  const result = await runStep(() => { throw new Defer(30, { saved: { page: 2 } }); });
  assert.equal(result.metadata.outcome, 'deferred');
  assert.deepEqual(result.metadata.deferral, { seconds: 30, saved: { page: 2 } });
  const notEncodable = await runStep(() => { throw new Defer(30, { saved: 1n }); });
  assert.deepEqual([notEncodable.error.type, notEncodable.metadata.retryable], ['NotJson', false]);
});

test('a branch names the dependents that run', async () => {
  const result = await runStep(() => new Branch('review', { total: 3 }));
  assert.deepEqual([result.metadata.chosen, result.output], [['review'], { total: 3 }]);
});

test('values with one obvious form travel, others are refused', async () => {
  const returned = { at: new Date(0), tags: new Set(['new']), map: new Map([['a', 1]]), left_out: undefined };
  const { output } = await runStep(() => returned);
  assert.deepEqual(output, { at: '1970-01-01T00:00:00.000Z', tags: ['new'], map: { a: 1 } });
  assert.equal((await runStep(() => {})).output, null);
  assert.equal((await runStep(() => 'half \ud83d')).output, 'half \ufffd');
  const circle = {};
  circle.itself = circle;
  for (const value of [1n, Number.NaN, Infinity, () => 1, Symbol('s'), circle]) {
    const { status, error, metadata } = await runStep(() => ({ value }));
    assert.deepEqual([status, error.type, metadata.retryable], ['failed', 'NotJson', false]);
  }
});

test('a key of a handler does not reach the prototype', async () => {
  const { output } = await runStep(() => JSON.parse('{"__proto__": {"polluted": true}}'));
  assert.deepEqual(Object.keys(output), ['__proto__']);
  assert.equal({}.polluted, undefined);
});

test('lines and progress are reported', async () => {
  const [lines, progress] = [[], []];
  const found = (step) => {
    step.log('one\ntwo\n');
    step.progress(1, 2, 'pages');
    step.progress(3);
  };
  await runStep(found, {}, { lines, progress });
  assert.deepEqual(lines, [{ stream: 'log', text: 'one' }, { stream: 'log', text: 'two' }]);
  assert.deepEqual(progress, [{ done: 1, total: 2, message: 'pages' }, { done: 3, total: null, message: '' }]);
  assert.match((await runStep((step) => step.progress('3'))).error.message, /done is 3; it must be a number/);
});

test('no line holds half a character', async () => {
  const progress = [];
  await runStep((step) => step.progress(1, 2, 'a\ud800'), {}, { progress });
  assert.deepEqual(progress, [{ done: 1, total: 2, message: 'a\ufffd' }]);
});

test('a timeout of many days is not over at once', async () => {
  const result = await runStep(() => setTimeout(20, 'slept'), { metadata: { timeout_ms: 2 ** 40 } });
  assert.equal(result.output, 'slept');
});

test('at its timeout the signal of a handler is aborted', async () => {
  let reason;
  const result = await runStep(async ({ signal }) => {
    await once(signal, 'abort');
    reason = signal.reason;
    return 'too late';
  }, { metadata: { timeout_ms: 5 } });
  assert.ok(reason instanceof TimedOut);
  assert.deepEqual([result.status, result.metadata.outcome], ['failed', 'timed_out']);
  assert.equal(result.error.message, 'not done after 5 ms');
});

test('a handler that does not end is abandoned, and the result says so', async () => {
  const result = await runStep(never, { metadata: { timeout_ms: 5 } }, { killGrace: 0 });
  assert.equal(result.metadata.outcome, 'timed_out');
  assert.match(result.error.message, /may still run/);
});

test('a handler is cancelled by a signal', async () => {
  const controller = new AbortController();
  const result = await runStep(async ({ signal }) => {
    queueMicrotask(() => controller.abort());
    await once(signal, 'abort');
    signal.throwIfAborted();
  }, {}, { signal: controller.signal });
  assert.deepEqual([result.status, result.metadata.outcome], ['failed', 'cancelled']);
});
