/** Decides how many steps a worker asks for: twice its slots, and more if steps are quick. */

import { NEVER } from './held-steps.js';

/** Credits for each slot, so that the next step is there when a slot becomes free. */
const CREDITS_PER_SLOT = 2;
/**
 * Milliseconds of work to prefetch: enough to hide the round trip to the hub and a commit, and too short to matter if
 * another worker could have begun it.
 */
const HORIZON = 200;
/**
 * At most so many times as many as ended since the last tick: a worker that is seldom used prefetches little, however
 * quick its handlers are.
 */
export const MAX_GROWTH = 4;
export const MAX_AHEAD = 512;
/** The prefetched share shrinks to no less than this part of itself per tick: loads come in bursts. */
const FADING = 0.7;
export const TICK_INTERVAL = 200;
/** Milliseconds after which prefetched steps that still wait are returned to their hub. */
export const RETURN_TIMEOUT = 1_000;

/**
 * Counts the steps that end, and the milliseconds in which any ran: a worker that waits for its hub has too few. Long
 * handlers end seldom, so nothing is prefetched behind them.
 */
export class Prefetch {
  #ended = 0;
  #ticked = NEVER;
  #busy = false;
  #busySince = 0;
  #busyFor = 0;
  #ahead = 0;

  /** Called for each step that ends. */
  ended() {
    this.#ended += 1;
  }

  /** Called in every round: `running` is true if any handler runs from now on. */
  busy(running, now) {
    if (this.#busy) this.#busyFor += now - this.#busySince;
    this.#busy = running;
    this.#busySince = now;
  }

  isDue(now) {
    return now - this.#ticked >= TICK_INTERVAL;
  }

  tick(slots, now) {
    this.busy(this.#busy, now);
    const able = this.#ended * Math.min(MAX_GROWTH, HORIZON / Math.max(1, this.#busyFor));
    this.#ahead = Math.min(MAX_AHEAD, Math.max(able - slots, this.#ahead * FADING));
    this.#ended = 0;
    this.#busyFor = 0;
    this.#ticked = now;
  }

  /** Returns how many steps to ask for in all with so many slots. */
  credits(slots) {
    return slots > 0 ? CREDITS_PER_SLOT * slots + Math.floor(this.#ahead) : 0;
  }

  /** Returns the time of the next tick. A worker that holds nothing needs none, once nothing is prefetched. */
  nextDue(isIdle) {
    return isIdle && this.#ahead < 1 ? Infinity : this.#ticked + TICK_INTERVAL;
  }
}

/**
 * Returns prefetched steps that have waited for RETURN_TIMEOUT. As many as there are slots may wait without limit, and so
 * may those that have asked for leave to begin.
 */
export function waitingTooLong(waiting, slots, now) {
  return waiting.slice(slots).filter((each) => !each.startWanted && now - each.receivedAt > RETURN_TIMEOUT);
}
