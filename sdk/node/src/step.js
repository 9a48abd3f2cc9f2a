/** The argument of a handler: the step's document, with methods for progress and log lines. */

import { readable } from './plain.js';

export class Step {
  #onLine;
  #onProgress;

  /**
   * @param {any} document as received
   * @param {AbortSignal} signal
   * @param {{onLine: (stream: string, text: string) => void,
   *   onProgress: (done: number, total: number | null, message: string) => void}} listener
   */
  constructor(document, signal, { onLine, onProgress }) {
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
    this.traceparent = metadata.traceparent ?? null;
    this.saved = metadata.saved ?? null;
    this.shadow = metadata.shadow === true;
    /** Aborted when the step is cancelled or has timed out; its reason is a Cancelled or a TimedOut. */
    this.signal = signal;
    this.#onLine = onLine;
    this.#onProgress = onProgress;
  }

  /** Writes one or more lines to the run's log. */
  log(text, stream = 'log') {
    for (const line of String(text).replace(/\r?\n$/, '').split(/\r?\n/)) this.#onLine(stream, line);
  }

  /** Reports progress, which is shown to people and not stored. */
  progress(done, total = null, message = '') {
    for (const [name, value] of Object.entries({ done, total: total ?? 0 })) {
      if (!Number.isFinite(value)) throw new TypeError(`progress: ${name} is ${String(value)}; it must be a number`);
    }
    this.#onProgress(done, total, readable(message));
  }
}
