/** Decides how many steps a worker asks for: twice its slots, and more if steps are quick. */

import { NEVER } from './held-steps.js';

/** Credits for each slot, so that the next step is there when a slot becomes free. */
const CREDITS_PER_SLOT = 2;
/**
 * Milliseconds of work to prefetch at the present rate: enough to hide the round trip to the hub and a commit, and too
 * short to matter if another worker could have begun it.
 */
const HORIZON = 200;
export const MAX_AHEAD = 512;
/** The prefetched share shrinks to no less than this part of itself per tick: loads come in bursts. */
const FADING = 0.7;
export const TICK_INTERVAL = 200;
/** Milliseconds after which prefetched steps that still wait are returned to their hub. */
export const RETURN_TIMEOUT = 1_000;

/** Counts the steps that end. Long handlers end seldom, so nothing is prefetched behind them. */
export class Prefetch {
  #ended = 0;
  #ticked = NEVER;
  #ahead = 0;

  /** Called for each step that ends. */
  ended() {
    this.#ended += 1;
  }

  isDue(now) {
    return now - this.#ticked >= TICK_INTERVAL;
  }

  tick(slots, now) {
    const rate = this.#ended / Math.max(1, now - this.#ticked);
    this.#ahead = Math.min(MAX_AHEAD, Math.max(rate * HORIZON - slots, this.#ahead * FADING));
    this.#ended = 0;
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
