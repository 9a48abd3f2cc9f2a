import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ConfigurationError, Registry } from '../index.js';
import { MESSAGES } from '../src/messages.js';
import { hello, options } from '../src/options.js';

const KEY = 'x'.repeat(40);

test('what is not given comes from the environment', () => {
  const found = options({}, {
    TURNOUT_CONNECT: 'tcp://a:1, tcp://b:2,tcp://a:1',
    TURNOUT_WORKER_NAME: 'gpu-1',
    TURNOUT_WORKER_LABELS: 'gpu=true, zone=a=b',
    TURNOUT_WORKER_CONCURRENCY: '8',
    TURNOUT_CURVE_SERVER_KEY: KEY,
    TURNOUT_CURVE_PUBLIC_KEY: KEY,
    TURNOUT_CURVE_SECRET_KEY: KEY,
  });
  assert.deepEqual(found.connect, ['tcp://a:1', 'tcp://b:2']);
  assert.deepEqual([found.name, found.concurrency], ['gpu-1', 8]);
  assert.deepEqual(found.labels, { gpu: 'true', zone: 'a=b' });
  assert.deepEqual(found.curve, { serverKey: KEY, publicKey: KEY, secretKey: KEY });
});

test('what is given counts more than the environment', () => {
  const given = { connect: ['tcp://c:3'], concurrency: 2, labels: { gpu: true } };
  const found = options(given, { TURNOUT_CONNECT: 'tcp://a:1' });
  assert.deepEqual([found.connect, found.concurrency, found.labels], [['tcp://c:3'], 2, { gpu: 'true' }]);
  assert.equal(found.curve, null);
});

test('the error of a wrong option names the right form', () => {
  const connect = 'tcp://a:1';
  const wrong = [
    [{}, /no hub to connect to/],
    [{ connect: '127.0.0.1:5890' }, /connect has '127.0.0.1:5890': write tcp:/],
    [{ connect, concurrency: 0 }, /concurrency is 0; it must be a number from 1 to 10000/],
    [{ connect, concurrency: 'many' }, /concurrency is many/],
    [{ connect, labels: 'gpu' }, /the label 'gpu' is none: write NAME=VALUE/],
    [{ connect, labels: 'gpu=' }, /the label 'gpu=' is none/],
    [{ connect, grace: -1 }, /grace is -1/],
    [{ connect, curve: { serverKey: KEY } }, /missing: publicKey, secretKey/],
    [{ connect, curve: { serverKey: KEY, publicKey: KEY, secretKey: 'short' } }, /secretKey must be 40 characters/],
  ];
  for (const [given, message] of wrong) {
    assert.throws(() => options(given, {}), message);
    assert.throws(() => options(given, {}), ConfigurationError);
  }
});

test('hello identifies the worker', () => {
  const found = hello(options({ connect: 'tcp://a:1' }, {}), ['greet']);
  assert.equal(MESSAGES.get('hello')({ ...found, seq: 1, credits: 8 }, 'hello'), undefined);
  assert.deepEqual([found.pid, found.handlers, found.codecs], [process.pid, ['greet'], ['json']]);
  assert.match(found.worker_id, /^[A-Za-z0-9_.-]{1,64}$/);
  if (process.platform === 'linux') assert.match(found.process_started, /^\d+$/);
});

test('a handler must be a function with a name', () => {
  const registry = new Registry();
  assert.throws(() => registry.register('greet'), /handler greet: give a function/);
  assert.throws(() => registry.register('', () => 1), TypeError);
});
