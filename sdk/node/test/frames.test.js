import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Malformed, UnknownKind, pack, unpack } from '../src/frames.js';
import { framesOf, messages, unreadable } from './support.js';

test('the vectors are there', () => {
  assert.ok(messages.length > 20 && unreadable.length > 20);
});

for (const vector of messages) {
  test(`the message ${vector.name} is read, and read again after writing`, () => {
    const { name, kind, session, body } = vector;
    assert.deepEqual(unpack(framesOf(vector)), { kind, session, body }, name);
    assert.deepEqual(unpack(pack(kind, body, session)), { kind, session, body }, name);
  });
}

for (const vector of unreadable.filter((each) => each.answer !== 'ignored')) {
  test(`the message ${vector.name} is ${vector.answer}`, () => {
    const expected = vector.answer === 'malformed' ? Malformed : UnknownKind;
    assert.throws(() => unpack(framesOf(vector)), expected);
  });
}

test('the frames of a message are those of every other language', () => {
  const frames = pack('drain', { reason: 'deploy' }, 's1').map(String);
  assert.deepEqual(frames, ['drain', 's1', '{"reason":"deploy"}', '17b87713']);
});

test('a field that every object inherits is not there', () => {
  assert.throws(() => unpack(pack('constructor', {}, 's1')), UnknownKind);
  assert.throws(() => unpack(pack('logged', { token: 't' }, 's1')), /logged.next is missing/);
});
