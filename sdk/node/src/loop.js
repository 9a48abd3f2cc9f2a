/** Calls the next round of the worker: once for all events of one iteration of the event loop, or when it is due. */

const MAX_WAIT = 60_000;

export class Loop {
  #round;
  #immediate = null;
  #timer = null;
  #closed = false;

  /** `round` is called with the time and returns the time of the next call, if there is no event before. */
  constructor(round) {
    this.#round = round;
  }

  /** Schedules a round now. */
  wake() {
    if (this.#closed || this.#immediate !== null) return;
    this.#immediate = setImmediate(() => {
      this.#immediate = null;
      this.#run();
    });
  }

  close() {
    this.#closed = true;
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
  }

  #run() {
    clearTimeout(this.#timer);
    const due = this.#round(performance.now());
    if (this.#closed) return;
    const wait = Math.min(Math.max(due - performance.now(), 0), MAX_WAIT);
    this.#timer = setTimeout(() => this.#run(), Math.ceil(wait));
  }
}
