/** Does the hub still know of us? Heartbeats, their numbers, and when the last one was sent that has been answered. */

import { NEVER } from './holdings.js';

export class Contact {
  /** When the last message was **sent** that the hub has answered: what it knows of us is not older. */
  last = NEVER;
  /** When the last heartbeat was sent. */
  beaten = NEVER;
  #seq = 0;
  /** When each heartbeat that is not answered yet was sent. */
  #unanswered = new Map();

  /** A session begins with the answer to a hello that was sent at this time, or later. */
  constructor(greeted = NEVER) {
    this.last = greeted;
  }

  /** The number of the next credit or heartbeat. */
  nextSeq() {
    this.#seq += 1;
    return this.#seq;
  }

  /** A heartbeat is sent; returns its number. */
  beat(now) {
    const seq = this.nextSeq();
    this.beaten = now;
    this.#unanswered.set(seq, now);
    return seq;
  }

  answered(seq) {
    this.last = Math.max(this.last, this.#unanswered.get(seq) ?? NEVER);
    this.#unanswered.delete(seq);
  }
}
