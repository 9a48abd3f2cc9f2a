import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { HeldSteps } from '../src/held-steps.js';
import { MAX_AHEAD, MAX_GROWTH, Prefetch, RETURN_TIMEOUT, TICK_INTERVAL, waitingTooLong } from '../src/prefetch.js';
import { step } from './support.js';

/** @type {Prefetch} */
let prefetch;

beforeEach(() => {
  prefetch = new Prefetch();
  after(0, 8, 0);
});

/**
 * Returns the credits with so many slots at this tick, when so many steps have ended since the last and handlers ran for
 * `busy` milliseconds.
 */
function after(ended, slots, ticks, busy = TICK_INTERVAL) {
  const now = ticks * TICK_INTERVAL;
  prefetch.busy(true, now - busy);
  prefetch.busy(false, now);
  for (let count = 0; count < ended; count += 1) prefetch.ended();
  prefetch.tick(slots, now);
  return prefetch.credits(slots);
}

test('a worker that knows nothing asks for twice its slots', () => {
  assert.equal(prefetch.credits(8), 16);
});

test('nothing is prefetched behind long handlers', () => {
  // Eight slots, half a second each.
  for (let tick = 1; tick < 50; tick += 1) assert.equal(after(3, 8, tick), 16);
});

test('quick steps are prefetched, and the less the longer none has ended', () => {
  const asked = [after(100, 8, 1)];
  for (let tick = 2; tick < 20; tick += 1) asked.push(after(0, 8, tick));
  assert.deepEqual([asked.at(0), asked.at(-1)], [108, 16]);
  assert.deepEqual(asked, [...asked].sort((one, other) => other - one));
  assert.equal(prefetch.nextDue(true), Infinity);
});

test('a worker that waits for its hub asks for what it would get through', () => {
  assert.equal(after(100, 8, 1, 100), 16 + 192);
  assert.equal(after(100, 8, 2, 10), 16 + MAX_GROWTH * 100 - 8);
});

test('a worker that is seldom used asks for little, however quick its handlers are', () => {
  assert.equal(after(2, 8, 1, 1), 16);
});

test('prefetching has a bound', () => {
  assert.equal(after(1_000_000, 8, 1), 16 + MAX_AHEAD);
  assert.equal(prefetch.credits(0), 0);
});

test('prefetched steps that wait for long are for others', () => {
  const heldSteps = new HeldSteps();
  for (let number = 0; number < 10; number += 1) {
    heldSteps.add(step(`${number}.1`, { confirm_start: number === 3 }), 'b', 'hub', number * 100);
  }
  heldSteps.requestStart(heldSteps.get('3.1'));
  const late = waitingTooLong(heldSteps.waiting, 2, RETURN_TIMEOUT + 450);
  assert.deepEqual(late.map(({ token }) => token), ['2.1', '4.1']);
});
