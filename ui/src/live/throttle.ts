/** Calls at most once per interval for each key: at once for the first, and once more for all that came meanwhile. */
export class Throttle {
  private readonly waiting = new Map<string, (() => void) | null>();

  run(key: string, interval: number, call: () => void): void {
    if (this.waiting.has(key)) {
      this.waiting.set(key, call);
      return;
    }
    this.waiting.set(key, null);
    call();
    setTimeout(() => this.next(key, interval), interval);
  }

  private next(key: string, interval: number): void {
    const call = this.waiting.get(key);
    this.waiting.delete(key);
    if (call) this.run(key, interval, call);
  }
}
