/** How does one step meet its handler? It runs once, and may be interrupted; its end is a result document. */

import { Defer, HandlerMissing, NotJson, PermanentError, RetryAfter } from './errors.js';
import { plain, readable } from './plain.js';
import { Branch } from './registry.js';
import { completed, failed, unable } from './results.js';
import { Step } from './step.js';

const BACKTRACE = 20;

export class Job {
  #registry;
  #abort = new AbortController();
  #interruption = null;

  /** `heard` takes what the handler says: see Step. */
  constructor(document, registry, heard) {
    this.document = document;
    this.token = document.metadata.token;
    this.step = new Step(document, this.#abort.signal, heard);
    this.#registry = registry;
  }

  /** Asks the handler to end. The first one counts; the handler may go on all the same. */
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

  /** The result of a handler that was interrupted and does not end. */
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

  /** It counts also if the handler returned all the same: nobody waits for what it says. */
  #interrupted(facts) {
    return unable(this.document, this.#interruption.outcome, readable(this.#interruption.message), facts);
  }

  #defer(error, facts) {
    try {
      const deferral = { seconds: error.seconds, saved: plain(error.saved) };
      return unable(this.document, 'deferred', error.message, { ...facts, deferral });
    } catch (unsayable) {
      return this.#fail(unsayable, { ...facts, retryable: false });
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

/** Anything can be thrown, also things that do not like to be looked at. */
function described(error) {
  try {
    if (!(error instanceof Error)) return { type: typeof error, message: readable(error), backtrace: [] };
    const lines = String(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
    const backtrace = lines.slice(0, BACKTRACE).map((line) => readable(line.trim()));
    const type = readable(error.name);
    // A task's retry_on and never_on are compared with all of them.
    const mro = [...new Set([type, ...classesOf(error)])];
    return { type, message: readable(error.message), backtrace, mro };
  } catch {
    return { type: 'Error', message: 'the handler threw something that cannot be written down', backtrace: [] };
  }
}
