/** What is a handler given? The step's document, and ways to be heard while it runs. */

import { readable } from './plain.js';

export class Step {
  #said;
  #progressed;

  /**
   * @param {any} document as it came
   * @param {AbortSignal} signal
   * @param {{said: (stream: string, text: string) => void,
   *   progressed: (done: number, total: number | null, message: string) => void}} heard
   */
  constructor(document, signal, { said, progressed }) {
    const { metadata } = document;
    this.document = document;
    this.metadata = metadata;
    this.id = document.step_id;
    this.name = document.step_name;
    this.taskId = document.task_id;
    this.config = document.handler_config ?? {};
    this.context = document.task_context ?? null;
    this.previous = document.previous_results ?? {};
    this.args = metadata.args ?? {};
    this.positional = metadata.positional ?? [];
    this.token = metadata.token;
    this.attempt = metadata.attempt ?? 0;
    this.retryLimit = metadata.retry_limit ?? 0;
    this.idempotencyKey = metadata.idempotency_key ?? null;
    this.saved = metadata.saved ?? null;
    this.shadow = metadata.shadow === true;
    /** Aborted when the step is cancelled or its time is over; its reason is a Cancelled or a TimedOut. */
    this.signal = signal;
    this.#said = said;
    this.#progressed = progressed;
  }

  /** A line, or several, for the run's log. */
  log(text, stream = 'log') {
    for (const line of String(text).replace(/\r?\n$/, '').split(/\r?\n/)) this.#said(stream, line);
  }

  /** How far it is. Shown to people, not kept. */
  progress(done, total = null, message = '') {
    for (const [name, value] of Object.entries({ done, total: total ?? 0 })) {
      if (!Number.isFinite(value)) throw new TypeError(`progress: ${name} is ${String(value)}; it must be a number`);
    }
    this.#progressed(done, total, readable(message));
  }
}
