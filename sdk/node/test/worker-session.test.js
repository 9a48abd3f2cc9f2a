import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { checkOf, pack } from '../src/frames.js';
import { SessionUnderTest, batch, framesOf, step, unreadable, welcome } from './support.js';

/** @type {SessionUnderTest} */
let hub;

beforeEach(() => {
  hub = new SessionUnderTest();
});

// -- coming in -------------------------------------------------------------------------------------------------------
test('hello is repeated until it is answered', () => {
  hub.session.open(hub.now);
  const first = hub.sent();
  assert.deepEqual(hub.pass(1_900).sent(), []);
  assert.deepEqual(hub.pass(200).sent(), first);
});

test('a hub that never answers hello gets another connection', () => {
  hub.session.open(hub.now);
  assert.deepEqual(hub.pass(12_000).actions(), [{ type: 'reconnect', reason: 'no answer to hello' }]);
});

test('a welcome for another hello is ignored', () => {
  hub.session.open(hub.now);
  hub.receive('welcome', welcome(7), 's7');
  assert.equal(hub.session.isOpen, false);
});

test('a heartbeat follows welcome at once', () => {
  assert.deepEqual(hub.welcomeWorker().sent(), [['heartbeat', { seq: 1, credits: 4, in_flight: [] }]]);
});

test('a codec that was not offered is malformed', () => {
  hub.welcomeWorker({ codec: 'msgpack' });
  assert.equal(hub.session.malformed, 1);
  assert.equal(hub.actions().at(-1).type, 'reconnect');
});

test('a final error ends the session', () => {
  hub.session.open(hub.now);
  hub.receive('error', { code: 'worker_in_use', message: 'no', retry: false }, '');
  assert.equal(hub.session.isRefused, true);
  assert.deepEqual(hub.actions(), [{ type: 'hubClosed', reason: 'worker_in_use: no' }]);
});

test('an error that concerns one result leaves the session alone', () => {
  hub.welcomeWorker().cleared().receive('error', { code: 'not_yours', message: 'no', retry: true });
  assert.equal(hub.session.isOpen, true);
  assert.deepEqual(hub.actions(), []);
});

test('every connection has a higher seq and lists the held steps', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.cleared().session.open(hub.now);
  const [, hello] = hub.sent().at(-1);
  assert.equal(hello.seq, 2);
  assert.deepEqual(hello.in_flight, [
    { token: '1.1', state: 'done' },
    { token: '2.1', state: 'waiting' },
  ]);
});

// -- steps -----------------------------------------------------------------------------------------------------------
test('steps are received each time and held once', () => {
  hub.welcomeWorker().cleared();
  hub.receive('steps', batch([step('1.1')])).receive('steps', batch([step('1.1')]));
  assert.deepEqual(hub.sent(), Array(2).fill(['received', { tokens: ['1.1'] }]));
  assert.equal(hub.heldSteps.size, 1);
});

test('a finished token is received and not held again', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')]));
  hub.finish('1.1');
  hub.receive('ack', { tokens: ['1.1'] }).cleared().receive('steps', batch([step('1.1')]));
  assert.deepEqual(hub.kinds(), ['received']);
  assert.equal(hub.heldSteps.size, 0);
});

test('ten thousand finished tokens are remembered', () => {
  hub.welcomeWorker();
  hub.heldSteps.forget(Array.from({ length: 30_000 }, (_, number) => `${number}.1`));
  hub.receive('steps', batch([step('20000.1'), step('29999.1')]));
  assert.equal(hub.heldSteps.size, 0);
});

test('a result is repeated until it is acknowledged, over sessions', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.finish('2.1');
  assert.deepEqual(hub.cleared().pass(0).sent().map(([, { results }]) => results.length), [2]);
  assert.deepEqual(hub.pass(1_999).kinds(), []);
  assert.deepEqual(hub.pass(1).kinds(), ['results']);
  hub.receive('ack', { tokens: ['1.1'] });
  const [, { results }] = hub.welcomeWorker().cleared().pass(0).sent().at(-1);
  assert.deepEqual(results.map((each) => each.metadata.token), ['2.1']);
  hub.receive('ack', { tokens: ['2.1'] });
  assert.ok(!hub.pass(2_000).kinds().includes('results'));
});

test('results of different batches do not share a message', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')], 'a')).receive('steps', batch([step('2.1')], 'b'));
  hub.finish('1.1');
  hub.finish('2.1');
  assert.deepEqual(hub.cleared().pass(0).sent().map(([, body]) => body.batch_id), ['a', 'b']);
});

test('a result that is too large becomes a failure, and the others go', () => {
  hub.welcomeWorker({ max_message_bytes: 10_000 }).receive('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.finish('2.1', 'x'.repeat(20_000));
  const results = hub.cleared().pass(0).sent().flatMap(([, body]) => body.results);
  assert.deepEqual(results.map((each) => [each.step_id, each.status]), [['1', 'completed'], ['2', 'failed']]);
});

test('a step that must be confirmed asks again, and may begin when it is granted', () => {
  const asking = [step('1.1', { confirm_start: true }), step('2.1', { confirm_start: true })];
  hub.welcomeWorker().receive('steps', batch(asking)).cleared();
  assert.deepEqual(hub.pass(0).sent(), [], 'leave is not requested before a slot is free');
  for (const each of hub.heldSteps) hub.heldSteps.requestStart(each);
  assert.deepEqual(hub.pass(0).pass(2_000).sent(), Array(2).fill(['start', { tokens: ['1.1', '2.1'] }]));
  assert.equal(hub.heldSteps.get('1.1').granted, false);
  hub.receive('started', { granted: ['1.1'], denied: ['2.1'] });
  assert.equal(hub.heldSteps.get('1.1').granted, true);
  assert.equal(hub.heldSteps.get('2.1'), undefined);
});

test('cancel returns what waits and stops what runs', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1'), step('2.1')])).cleared();
  hub.heldSteps.begin(hub.heldSteps.get('2.1'));
  hub.receive('cancel', { tokens: ['1.1', '2.1', '9.9'], reason: 'changed my mind' });
  assert.equal(hub.heldSteps.get('1.1').result.metadata.outcome, 'returned');
  assert.deepEqual(hub.actions(), [{ type: 'stop', token: '2.1', reason: 'changed my mind' }]);
});

test('what a welcome releases is stopped and forgotten', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1'), step('2.1')]));
  hub.heldSteps.begin(hub.heldSteps.get('2.1'));
  hub.cleared().welcomeWorker({ release: ['1.1', '2.1'] });
  assert.equal(hub.heldSteps.size, 0);
  assert.deepEqual(hub.actions().at(-1), { type: 'stop', token: '2.1', reason: 'its result is not needed any more' });
});

test('credits are sent once when they change', () => {
  hub.welcomeWorker().cleared();
  hub.session.credits = 2;
  hub.session.credits = 2;
  assert.deepEqual(hub.sent(), [['credit', { seq: 2, credits: 2 }]]);
});

// -- contact ---------------------------------------------------------------------------------------------------------
test('a worker without answers is out of contact before its lease is over', () => {
  hub.welcomeWorker().cleared();
  assert.equal(hub.session.inContact(hub.now + 11_999), true);
  assert.equal(hub.session.inContact(hub.now + 12_000), false);
  assert.deepEqual(hub.pass(12_000).actions(), [{ type: 'reconnect', reason: 'no answer for 12.0 s' }]);
});

test('contact counts from when the answered heartbeat was sent', () => {
  hub.welcomeWorker().cleared().pass(5_000);
  const [, { seq }] = hub.sent().at(-1);
  const sent = hub.now;
  hub.now += 4_000;
  hub.receive('heartbeat', { seq });
  assert.equal(hub.session.inContact(sent + 11_999), true);
  assert.equal(hub.session.inContact(sent + 12_000), false);
});

test('an answer to a heartbeat that was never sent is no contact', () => {
  hub.welcomeWorker().cleared();
  const before = hub.now;
  hub.now += 4_000;
  hub.receive('heartbeat', { seq: 99 });
  assert.equal(hub.session.inContact(before + 12_000), false);
});

test('something is due exactly when nextDue says', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')]));
  hub.finish('1.1');
  hub.cleared().pass(0).cleared();
  assert.deepEqual(hub.pass(hub.session.nextDue - hub.now).kinds(), ['results']);
});

test('an unknown message is answered and the session goes on', () => {
  hub.welcomeWorker().cleared();
  const parts = ['tomorrow', hub.sessionId, '{}'].map((each) => Buffer.from(each));
  hub.session.receive([...parts, checkOf(parts)], hub.now);
  assert.equal(hub.sent().at(-1)[1].code, 'unknown_message');
  assert.equal(hub.session.isOpen, true);
});

test('what the vectors call unreadable is met as they say', () => {
  const expected = {
    malformed: { sent: [], actions: ['reconnect'], malformed: 1 },
    unknown_message: { sent: ['unknown_message'], actions: [], malformed: 0 },
    ignored: { sent: [], actions: [], malformed: 0 },
  };
  for (const vector of unreadable) {
    const one = new SessionUnderTest().welcomeWorker({ session: 's1' }).cleared();
    one.session.receive(framesOf(vector), one.now);
    const sent = one.sent().map(([, body]) => body.code);
    const met = { sent, actions: one.actions().map(({ type }) => type), malformed: one.session.malformed };
    assert.deepEqual(met, expected[vector.answer], vector.name);
  }
});

test('messages of an old session are ignored', () => {
  const old = hub.welcomeWorker().sessionId;
  hub.welcomeWorker().cleared();
  hub.session.receive(pack('steps', batch([step('1.1')]), old), hub.now);
  assert.equal(hub.heldSteps.size, 0);
  assert.deepEqual(hub.sent(), []);
});

test('what was reported is not new again', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1'), step('2.1')]));
  hub.finish('1.1');
  hub.heldSteps.addLine('2.1', 'log', 'one');
  assert.deepEqual(hub.heldSteps.takeChanged().map(({ token }) => token), ['1.1', '2.1']);
  assert.deepEqual(hub.heldSteps.takeChanged(), []);
  hub.finish('2.1');
  hub.receive('ack', { tokens: ['2.1'] });
  assert.deepEqual(hub.heldSteps.takeChanged(), []);
  assert.equal(hub.heldSteps.unacknowledged, 1);
});

test('a step that may not begin now waits again in its place', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1'), step('2.1')]));
  hub.heldSteps.begin(hub.heldSteps.get('1.1'));
  assert.deepEqual(hub.heldSteps.waiting.map(({ token }) => token), ['2.1']);
  hub.heldSteps.waitAgain(hub.heldSteps.get('1.1'));
  assert.deepEqual(hub.heldSteps.waiting.map(({ token }) => token), ['1.1', '2.1']);
});

// -- lines -----------------------------------------------------------------------------------------------------------
test('lines carry their offset and are repeated until the hub has them', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')])).cleared();
  for (const text of ['one', 'two']) hub.heldSteps.addLine('1.1', 'stdout', text);
  assert.deepEqual(hub.pass(0).pass(2_000).sent().map(([, body]) => body.offset), [0, 0]);
  hub.receive('logged', { token: '1.1', next: 1 }).pass(0);
  assert.deepEqual(hub.sent(), [['log', { token: '1.1', offset: 1, lines: [{ stream: 'stdout', text: 'two' }] }]]);
});

test('new lines wait half a second at most for the answer to those before', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')]));
  hub.heldSteps.addLine('1.1', 'log', 'one');
  hub.pass(0).cleared();
  hub.heldSteps.addLine('1.1', 'log', 'two');
  assert.deepEqual(hub.pass(400).sent(), []);
  assert.equal(hub.pass(100).sent().at(-1)[1].lines.length, 2);
});

test('the last lines go before the result', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')]));
  for (let number = 0; number < 2_500; number += 1) hub.heldSteps.addLine('1.1', 'stdout', `${number}`);
  hub.finish('1.1');
  assert.deepEqual(hub.cleared().pass(0).kinds(), ['log', 'log', 'log', 'results']);
});

test('too many lines are cut, and the last one says so', () => {
  hub.welcomeWorker().receive('steps', batch([step('1.1')]));
  for (let number = 0; number < 10_010; number += 1) hub.heldSteps.addLine('1.1', 'stdout', 'x');
  const { lines } = hub.heldSteps.get('1.1');
  assert.equal(lines.length, 10_001);
  assert.equal(lines.at(-1).stream, 'log');
});

// -- other hubs ------------------------------------------------------------------------------------------------------
test('what a hub gave that is gone is reported to this one', () => {
  const other = new SessionUnderTest({ isOrphan: (heldStep) => heldStep.hub === 'gone' });
  other.heldSteps.add(step('9.1'), 'b9', 'gone', other.now);
  other.heldSteps.add(step('8.1'), 'b8', 'alive', other.now);
  assert.deepEqual(other.welcomeWorker().sent().at(-1)[1].in_flight, [{ token: '9.1', state: 'waiting' }]);
  other.receive('steps', batch([step('9.1')]));
  assert.equal(other.heldSteps.get('9.1').hub, 'hub');
});

test('the result of a hub that goes later is sent when all steps are checked', () => {
  const gone = [];
  const other = new SessionUnderTest({ isOrphan: (heldStep) => gone.includes(heldStep.hub) });
  other.heldSteps.add(step('9.1'), 'b9', 'other', other.now);
  other.welcomeWorker().cleared();
  other.finish('9.1');
  assert.deepEqual(other.pass(0).sent(), []);
  gone.push('other');
  other.session.checkAll();
  assert.deepEqual(other.pass(0).kinds(), ['results']);
});

test('a heartbeat takes over what a hub gave that is gone, and says which hubs there are', () => {
  const other = new SessionUnderTest({ isOrphan: (heldStep) => heldStep.hub === 'gone' });
  for (const hub of ['gone', 'alive']) other.heldSteps.add(step(`${hub}.1`), 'b', hub, other.now);
  other.welcomeWorker().receive('heartbeat', { seq: 1, keep: ['gone.1', 'alive.1', 'never.1'], hubs: ['tcp://a'] });
  other.receive('heartbeat', { seq: 2 });
  assert.deepEqual(
    ['gone.1', 'alive.1'].map((token) => other.heldSteps.get(token).hub),
    ['hub', 'alive'],
  );
  assert.deepEqual(other.session.hubs, ['tcp://a']);
});
