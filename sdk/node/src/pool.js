/** Runs handlers, and interrupts those whose timeout has passed. */

import { TimedOut } from './errors.js';

export class Pool {
  #slots;
  #grace;
  #ended;
  /** Running handlers by token; `due` is the time of the next check. */
  #running = new Map();

  /** `ended` is called with the token and the result document of each job, once. */
  constructor(slots, grace, ended) {
    this.#slots = slots;
    this.#grace = grace;
    this.#ended = ended;
  }

  get free() {
    return this.#slots - this.#running.size;
  }

  get size() {
    return this.#running.size;
  }

  get isIdle() {
    return this.#running.size === 0;
  }

  /** `mayBegin` is called right before the handler: another may have blocked the event loop until then. */
  start(job, now, mayBegin) {
    const limit = job.document.metadata.timeout_ms ?? Infinity;
    const running = { job, due: now + limit, stopping: false };
    this.#running.set(job.token, running);
    // Not now: the messages of this round go out before a handler can block the event loop.
    queueMicrotask(async () => {
      if (!mayBegin()) {
        this.#running.delete(job.token);
        return;
      }
      running.due = performance.now() + limit;
      const result = await job.perform();
      if (this.#running.get(job.token) === running) this.#end(job, result);
    });
  }

  /** Interrupts this handler; it has the grace period to end. */
  stop(token, error, now) {
    const running = this.#running.get(token);
    if (running === undefined || running.stopping) return;
    running.stopping = true;
    running.due = now + this.#grace;
    running.job.interrupt(error);
  }

  /** Interrupts handlers whose timeout has passed. Those that do not end are abandoned: JavaScript cannot end them. */
  tick(now) {
    for (const [token, running] of [...this.#running]) {
      if (running.due > now) continue;
      if (running.stopping) this.#end(running.job, running.job.abandoned());
      else this.stop(token, new TimedOut(`not done after ${running.job.document.metadata.timeout_ms} ms`), now);
    }
  }

  get nextDue() {
    let soonest = Infinity;
    for (const { due } of this.#running.values()) soonest = Math.min(soonest, due);
    return soonest;
  }

  #end(job, result) {
    this.#running.delete(job.token);
    this.#ended(job.token, result);
  }
}
