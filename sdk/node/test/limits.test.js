import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Malformed, OverLimit, checkOf, pack, unpack } from '../src/frames.js';
import { LISTS } from '../src/limits.js';
import { SessionUnderTest } from './support.js';

/** The limits that every language has. */
const FILE = new URL('../../../src/turnout/wire/vectors/limits.json', import.meta.url);
const { lists, nesting } = JSON.parse(readFileSync(FILE, 'utf8'));

for (const { kind, field, most, member, body } of lists) {
  test(`${kind} has at most ${most} ${field}`, () => {
    assert.equal(LISTS.get(field), most);
    const full = { ...body, [field]: Array(most).fill(member) };
    assert.equal(unpack(pack(kind, full, 's1')).body[field].length, most);
    full[field].push(member);
    const message = `${kind} has ${most + 1} ${field}; the limit is ${most}`;
    assert.throws(() => unpack(pack(kind, full, 's1')), (error) => error instanceof OverLimit && error.message === message);
  });
}

const nested = (depth) => {
  const lists = '['.repeat(depth - 1) + ']'.repeat(depth - 1);
  const text = `${JSON.stringify(nesting.body).slice(0, -1)},"${nesting.field}":${lists}}`;
  const parts = [nesting.kind, 's1', text].map((each) => Buffer.from(each));
  return [...parts, checkOf(parts)];
};

test('nesting is bounded', () => {
  assert.equal(unpack(nested(nesting.read)).kind, nesting.kind);
  assert.throws(() => unpack(nested(nesting.unreadable)), Malformed);
});

test('brackets in a text are no nesting', () => {
  const reason = '\\"[{'.repeat(1_000);
  assert.equal(unpack(pack('drain', { reason }, 's1')).body.reason, reason);
});

test('a message over the limit ends the connection with its reason', () => {
  const hub = new SessionUnderTest().welcomeWorker().cleared();
  hub.receive('ack', { tokens: Array(LISTS.get('tokens') + 1).fill('1.1') });
  const reason = 'over_limit: ack has 200001 tokens; the limit is 200000';
  assert.deepEqual(hub.actions(), [{ type: 'reconnect', reason }]);
  assert.ok(hub.session.overLimit && !hub.session.isOpen);
});
