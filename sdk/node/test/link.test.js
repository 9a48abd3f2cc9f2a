import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { checkOf, pack } from '../src/frames.js';
import { LinkUnderTest, batch, framesOf, step, unreadable, welcome } from './support.js';

/** @type {LinkUnderTest} */
let hub;

beforeEach(() => {
  hub = new LinkUnderTest();
});

// -- coming in -------------------------------------------------------------------------------------------------------
test('hello is said again until it is answered', () => {
  hub.link.open(hub.now);
  const first = hub.said();
  assert.deepEqual(hub.pass(1_900).said(), []);
  assert.deepEqual(hub.pass(200).said(), first);
});

test('a hub that never answers hello is tried on another connection', () => {
  hub.link.open(hub.now);
  assert.deepEqual(hub.pass(12_000).did(), [{ type: 'reconnect', reason: 'no answer to hello' }]);
});

test('a welcome for another hello is ignored', () => {
  hub.link.open(hub.now);
  hub.hear('welcome', welcome(7), 's7');
  assert.equal(hub.link.isOpen, false);
});

test('a heartbeat follows welcome at once', () => {
  assert.deepEqual(hub.letIn().said(), [['heartbeat', { seq: 1, credits: 4, in_flight: [] }]]);
});

test('a codec that was not offered is malformed', () => {
  hub.letIn({ codec: 'msgpack' });
  assert.equal(hub.link.malformed, 1);
  assert.equal(hub.did().at(-1).type, 'reconnect');
});

test('a final error ends the link', () => {
  hub.link.open(hub.now);
  hub.hear('error', { code: 'worker_in_use', message: 'no', retry: false }, '');
  assert.equal(hub.link.isRefused, true);
  assert.deepEqual(hub.did(), [{ type: 'parted', reason: 'worker_in_use: no' }]);
});

test('an error that concerns one result leaves the session alone', () => {
  hub.letIn().settled().hear('error', { code: 'not_yours', message: 'no', retry: true });
  assert.equal(hub.link.isOpen, true);
  assert.deepEqual(hub.did(), []);
});

test('every connection has a higher seq and tells what is in hand', () => {
  hub.letIn().hear('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.settled().link.open(hub.now);
  const [, hello] = hub.said().at(-1);
  assert.equal(hello.seq, 2);
  assert.deepEqual(hello.in_flight, [
    { token: '1.1', state: 'done' },
    { token: '2.1', state: 'waiting' },
  ]);
});

// -- steps -----------------------------------------------------------------------------------------------------------
test('steps are received each time and held once', () => {
  hub.letIn().settled();
  hub.hear('steps', batch([step('1.1')])).hear('steps', batch([step('1.1')]));
  assert.deepEqual(hub.said(), Array(2).fill(['received', { tokens: ['1.1'] }]));
  assert.equal(hub.holdings.size, 1);
});

test('a finished token is received and not held again', () => {
  hub.letIn().hear('steps', batch([step('1.1')]));
  hub.finish('1.1');
  hub.hear('ack', { tokens: ['1.1'] }).settled().hear('steps', batch([step('1.1')]));
  assert.deepEqual(hub.kinds(), ['received']);
  assert.equal(hub.holdings.size, 0);
});

test('ten thousand finished tokens are remembered', () => {
  hub.letIn();
  hub.holdings.forget(Array.from({ length: 30_000 }, (_, number) => `${number}.1`));
  hub.hear('steps', batch([step('20000.1'), step('29999.1')]));
  assert.equal(hub.holdings.size, 0);
});

test('a result is repeated until it is acknowledged, over sessions', () => {
  hub.letIn().hear('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.finish('2.1');
  assert.deepEqual(hub.settled().pass(0).said().map(([, { results }]) => results.length), [2]);
  assert.deepEqual(hub.pass(1_999).kinds(), []);
  assert.deepEqual(hub.pass(1).kinds(), ['results']);
  hub.hear('ack', { tokens: ['1.1'] });
  const [, { results }] = hub.letIn().settled().pass(0).said().at(-1);
  assert.deepEqual(results.map((each) => each.metadata.token), ['2.1']);
  hub.hear('ack', { tokens: ['2.1'] });
  assert.ok(!hub.pass(2_000).kinds().includes('results'));
});

test('results of different batches do not share a message', () => {
  hub.letIn().hear('steps', batch([step('1.1')], 'a')).hear('steps', batch([step('2.1')], 'b'));
  hub.finish('1.1');
  hub.finish('2.1');
  assert.deepEqual(hub.settled().pass(0).said().map(([, body]) => body.batch_id), ['a', 'b']);
});

test('a result that is too large becomes a failure, and the others go', () => {
  hub.letIn({ max_message_bytes: 10_000 }).hear('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.finish('2.1', 'x'.repeat(20_000));
  const results = hub.settled().pass(0).said().flatMap(([, body]) => body.results);
  assert.deepEqual(results.map((each) => [each.step_id, each.status]), [['1', 'completed'], ['2', 'failed']]);
});

test('a step that must be confirmed asks again, and may begin when it is granted', () => {
  const asking = [step('1.1', { confirm_start: true }), step('2.1', { confirm_start: true })];
  hub.letIn().hear('steps', batch(asking)).settled();
  assert.deepEqual(hub.pass(0).pass(2_000).said(), Array(2).fill(['start', { tokens: ['1.1', '2.1'] }]));
  assert.equal(hub.holdings.get('1.1').granted, false);
  hub.hear('started', { granted: ['1.1'], denied: ['2.1'] });
  assert.equal(hub.holdings.get('1.1').granted, true);
  assert.equal(hub.holdings.get('2.1'), undefined);
});

test('cancel returns what waits and stops what runs', () => {
  hub.letIn().hear('steps', batch([step('1.1'), step('2.1')])).settled();
  hub.holdings.get('2.1').state = 'running';
  hub.hear('cancel', { tokens: ['1.1', '2.1', '9.9'], reason: 'changed my mind' });
  assert.equal(hub.holdings.get('1.1').result.metadata.outcome, 'returned');
  assert.deepEqual(hub.did(), [{ type: 'stop', token: '2.1', reason: 'changed my mind' }]);
});

test('what a welcome releases is stopped and forgotten', () => {
  hub.letIn().hear('steps', batch([step('1.1'), step('2.1')]));
  hub.holdings.get('2.1').state = 'running';
  hub.settled().letIn({ release: ['1.1', '2.1'] });
  assert.equal(hub.holdings.size, 0);
  assert.deepEqual(hub.did().at(-1), { type: 'stop', token: '2.1', reason: 'nobody waits for it any more' });
});

test('credits are told once when they change', () => {
  hub.letIn().settled();
  hub.link.credits = 2;
  hub.link.credits = 2;
  assert.deepEqual(hub.said(), [['credit', { seq: 2, credits: 2 }]]);
});

// -- contact ---------------------------------------------------------------------------------------------------------
test('a worker without answers is out of contact before its lease is over', () => {
  hub.letIn().settled();
  assert.equal(hub.link.inContact(hub.now + 11_999), true);
  assert.equal(hub.link.inContact(hub.now + 12_000), false);
  assert.deepEqual(hub.pass(12_000).did(), [{ type: 'reconnect', reason: 'no answer for 12.0 s' }]);
});

test('contact counts from when the answered heartbeat was sent', () => {
  hub.letIn().settled().pass(5_000);
  const [, { seq }] = hub.said().at(-1);
  const sent = hub.now;
  hub.now += 4_000;
  hub.hear('heartbeat', { seq });
  assert.equal(hub.link.inContact(sent + 11_999), true);
  assert.equal(hub.link.inContact(sent + 12_000), false);
});

test('an answer to a heartbeat that was never sent is no contact', () => {
  hub.letIn().settled();
  const before = hub.now;
  hub.now += 4_000;
  hub.hear('heartbeat', { seq: 99 });
  assert.equal(hub.link.inContact(before + 12_000), false);
});

test('something is due exactly when nextDue says', () => {
  hub.letIn().hear('steps', batch([step('1.1')]));
  hub.finish('1.1');
  hub.settled().pass(0).settled();
  assert.deepEqual(hub.pass(hub.link.nextDue - hub.now).kinds(), ['results']);
});

test('an unknown message is answered and the session goes on', () => {
  hub.letIn().settled();
  const parts = ['tomorrow', hub.session, '{}'].map((each) => Buffer.from(each));
  hub.link.receive([...parts, checkOf(parts)], hub.now);
  assert.equal(hub.said().at(-1)[1].code, 'unknown_message');
  assert.equal(hub.link.isOpen, true);
});

test('what the vectors call unreadable is met as they say', () => {
  const expected = {
    malformed: { said: [], did: ['reconnect'], malformed: 1 },
    unknown_message: { said: ['unknown_message'], did: [], malformed: 0 },
    ignored: { said: [], did: [], malformed: 0 },
  };
  for (const vector of unreadable) {
    const one = new LinkUnderTest().letIn({ session: 's1' }).settled();
    one.link.receive(framesOf(vector), one.now);
    const said = one.said().map(([, body]) => body.code);
    const met = { said, did: one.did().map(({ type }) => type), malformed: one.link.malformed };
    assert.deepEqual(met, expected[vector.answer], vector.name);
  }
});

test('messages of an old session are ignored', () => {
  const old = hub.letIn().session;
  hub.letIn().settled();
  hub.link.receive(pack('steps', batch([step('1.1')]), old), hub.now);
  assert.equal(hub.holdings.size, 0);
  assert.deepEqual(hub.said(), []);
});

// -- lines -----------------------------------------------------------------------------------------------------------
test('lines carry their offset and are repeated until the hub has them', () => {
  hub.letIn().hear('steps', batch([step('1.1')])).settled();
  for (const text of ['one', 'two']) hub.holdings.say('1.1', 'stdout', text);
  assert.deepEqual(hub.pass(0).pass(2_000).said().map(([, body]) => body.offset), [0, 0]);
  hub.hear('logged', { token: '1.1', next: 1 }).pass(0);
  assert.deepEqual(hub.said(), [['log', { token: '1.1', offset: 1, lines: [{ stream: 'stdout', text: 'two' }] }]]);
});

test('new lines wait half a second at most for the answer to those before', () => {
  hub.letIn().hear('steps', batch([step('1.1')]));
  hub.holdings.say('1.1', 'log', 'one');
  hub.pass(0).settled();
  hub.holdings.say('1.1', 'log', 'two');
  assert.deepEqual(hub.pass(400).said(), []);
  assert.equal(hub.pass(100).said().at(-1)[1].lines.length, 2);
});

test('the last lines go before the result', () => {
  hub.letIn().hear('steps', batch([step('1.1')]));
  for (let number = 0; number < 2_500; number += 1) hub.holdings.say('1.1', 'stdout', `${number}`);
  hub.finish('1.1');
  assert.deepEqual(hub.settled().pass(0).kinds(), ['log', 'log', 'log', 'results']);
});

test('too many lines are cut, and the last one says so', () => {
  hub.letIn().hear('steps', batch([step('1.1')]));
  for (let number = 0; number < 10_010; number += 1) hub.holdings.say('1.1', 'stdout', 'x');
  const { lines } = hub.holdings.get('1.1');
  assert.equal(lines.length, 10_001);
  assert.equal(lines.at(-1).stream, 'log');
});

// -- other hubs ------------------------------------------------------------------------------------------------------
test('what a hub gave that is gone is told to this one', () => {
  const other = new LinkUnderTest({ isOrphan: (holding) => holding.hub === 'gone' });
  other.holdings.take(step('9.1'), 'b9', 'gone', other.now);
  other.holdings.take(step('8.1'), 'b8', 'alive', other.now);
  assert.deepEqual(other.letIn().said().at(-1)[1].in_flight, [{ token: '9.1', state: 'waiting' }]);
  other.hear('steps', batch([step('9.1')]));
  assert.equal(other.holdings.get('9.1').hub, 'hub');
});

test('a heartbeat takes over what a hub gave that is gone, and says which hubs there are', () => {
  const other = new LinkUnderTest({ isOrphan: (holding) => holding.hub === 'gone' });
  for (const hub of ['gone', 'alive']) other.holdings.take(step(`${hub}.1`), 'b', hub, other.now);
  other.letIn().hear('heartbeat', { seq: 1, keep: ['gone.1', 'alive.1', 'never.1'], hubs: ['tcp://a'] });
  other.hear('heartbeat', { seq: 2 });
  assert.deepEqual(
    ['gone.1', 'alive.1'].map((token) => other.holdings.get(token).hub),
    ['hub', 'alive'],
  );
  assert.deepEqual(other.link.hubs, ['tcp://a']);
});
