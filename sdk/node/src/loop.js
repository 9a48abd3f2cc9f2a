/** When is the next turn? As soon as something has happened, once for all that happened by then; or when it is due. */

const LONGEST_WAIT = 60_000;

export class Loop {
  #turn;
  #immediate = null;
  #timer = null;
  #closed = false;

  /** `turn` is called with the time and returns when it wants to be called again, if nothing happens before. */
  constructor(turn) {
    this.#turn = turn;
  }

  /** Something has happened. */
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
    const due = this.#turn(performance.now());
    if (this.#closed) return;
    const wait = Math.min(Math.max(due - performance.now(), 0), LONGEST_WAIT);
    this.#timer = setTimeout(() => this.#run(), Math.ceil(wait));
  }
}
