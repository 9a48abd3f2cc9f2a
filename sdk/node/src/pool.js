/** Which handlers run, and what is to be done about those whose time is over? */

import { TimedOut } from './errors.js';

export class Pool {
  #places;
  #grace;
  #ended;
  /** What runs, by token; `due` is when something has to be done about it next. */
  #running = new Map();

  /** `ended` is called with the token and the result document of each job, once. */
  constructor(places, grace, ended) {
    this.#places = places;
    this.#grace = grace;
    this.#ended = ended;
  }

  get free() {
    return this.#places - this.#running.size;
  }

  get size() {
    return this.#running.size;
  }

  get isIdle() {
    return this.#running.size === 0;
  }

  /** `mayBegin` is asked right before the handler is called: another may have kept the event loop until then. */
  start(job, now, mayBegin) {
    const limit = job.document.metadata.timeout_ms ?? Infinity;
    const running = { job, due: now + limit, stopping: false };
    this.#running.set(job.token, running);
    // Not now: what the worker has to say in this turn goes out before a handler can keep it from doing so.
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

  /** Asks this handler to end; it has a grace to do so. */
  stop(token, error, now) {
    const running = this.#running.get(token);
    if (running === undefined || running.stopping) return;
    running.stopping = true;
    running.due = now + this.#grace;
    running.job.interrupt(error);
  }

  /** Asks handlers whose time is over to end. Those that did not are abandoned: JavaScript has no way to end them. */
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
