/** Numbers heartbeats, and holds the time at which the last acknowledged one was sent. */

import { NEVER } from './held-steps.js';

export class Contact {
  /** The time at which the last answered message was **sent**: the hub knows the state of the worker since then. */
  last = NEVER;
  /** The time of the last heartbeat. */
  heartbeatSentAt = NEVER;
  #seq = 0;
  /** The times at which unanswered heartbeats were sent, by number. */
  #sentAt = new Map();

  /** A session begins with the answer to a hello that was sent at this time, or later. */
  constructor(helloSentAt = NEVER) {
    this.last = helloSentAt;
  }

  /** The number of the next credit or heartbeat. */
  nextSeq() {
    this.#seq += 1;
    return this.#seq;
  }

  /** Records that a heartbeat is sent. Returns its number. */
  record(now) {
    const seq = this.nextSeq();
    this.heartbeatSentAt = now;
    this.#sentAt.set(seq, now);
    return seq;
  }

  acknowledge(seq) {
    this.last = Math.max(this.last, this.#sentAt.get(seq) ?? NEVER);
    this.#sentAt.delete(seq);
  }
}
