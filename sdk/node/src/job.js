/** Runs the handler of one step once. It may be interrupted; its end is a result document. */

import { Defer, HandlerMissing, NotJson, PermanentError, RetryAfter } from './errors.js';
import { plain, readable } from './plain.js';
import { Branch } from './registry.js';
import { completed, failed, unable } from './results.js';
import { Step } from './step.js';

const MAX_BACKTRACE = 20;

export class Job {
  #registry;
  #abort = new AbortController();
  #interruption = null;

  /** `listener` receives lines and progress: see Step. */
  constructor(document, registry, listener) {
    this.document = document;
    this.token = document.metadata.token;
    this.step = new Step(document, this.#abort.signal, listener);
    this.#registry = registry;
  }

  /** Aborts the signal of the handler, which may ignore it. The first interruption counts. */
  interrupt(error) {
    if (this.#interruption !== null) return;
    this.#interruption = error;
    this.#abort.abort(error);
  }

  /** Runs the handler and resolves to the result document; never rejects. */
  async perform() {
    const began = performance.now();
    const facts = {};
    try {
      const { call, version } = this.#registry.find(this.document.handler_class);
      facts.handler_version = version;
      const returned = await call(this.step);
      return this.#returned(returned, took(facts, began));
    } catch (error) {
      return this.#thrown(error, took(facts, began));
    }
  }

  /** Returns the result of a handler that was interrupted and does not end. */
  abandoned() {
    const { outcome, message } = this.#interruption;
    return unable(this.document, outcome, `${message}; the handler did not end when it was asked to and may still run`);
  }

  #returned(value, facts) {
    if (this.#interruption !== null) return this.#interrupted(facts);
    const branch = value instanceof Branch ? value : undefined;
    const output = plain(branch === undefined ? value : branch.output);
    return completed(this.document, output, { ...facts, chosen: branch?.chosen.map(readable) });
  }

  #thrown(error, facts) {
    if (this.#interruption !== null) return this.#interrupted(facts);
    if (error instanceof HandlerMissing) return unable(this.document, 'handler_missing', error.message);
    if (error instanceof Defer) return this.#defer(error, facts);
    if (error instanceof RetryAfter) facts.retry_after_ms = Math.ceil(error.seconds * 1000);
    if (error instanceof PermanentError || error instanceof NotJson) facts.retryable = false;
    return this.#fail(error, facts);
  }

  /** An interruption counts also if the handler has returned: its result is not needed. */
  #interrupted(facts) {
    return unable(this.document, this.#interruption.outcome, readable(this.#interruption.message), facts);
  }

  #defer(error, facts) {
    try {
      const deferral = { seconds: error.seconds, saved: plain(error.saved) };
      return unable(this.document, 'deferred', error.message, { ...facts, deferral });
    } catch (notEncodable) {
      return this.#fail(notEncodable, { ...facts, retryable: false });
    }
  }

  #fail(error, facts) {
    return failed(this.document, described(error), facts);
  }
}

function took(facts, began) {
  return { ...facts, execution_time_ms: Math.round((performance.now() - began) * 1000) / 1000 };
}

function classesOf(error) {
  const names = [];
  for (let each = Object.getPrototypeOf(error); each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    names.push(readable(each.constructor.name));
  }
  return names;
}

/** Returns the error of a result. Any value can be thrown, also one whose properties throw. */
function described(error) {
  try {
    if (!(error instanceof Error)) return { type: typeof error, message: readable(error), backtrace: [] };
    const lines = String(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
    const backtrace = lines.slice(0, MAX_BACKTRACE).map((line) => readable(line.trim()));
    const type = readable(error.name);
    // A task's retry_on and never_on are compared with all of them.
    const mro = [...new Set([type, ...classesOf(error)])];
    return { type, message: readable(error.message), backtrace, mro };
  } catch {
    return { type: 'Error', message: 'the handler threw an error that cannot be read', backtrace: [] };
  }
}
