/** Finds the handler of a `handler_class`. */

import { HandlerMissing } from './errors.js';

/** Return it from a step that chooses which of its dependents run: `return new Branch('review')`. */
export class Branch {
  constructor(chosen, output = null) {
    this.chosen = [chosen].flat();
    this.output = output;
  }
}

export class Registry {
  #entries = new Map();

  /**
   * @param {string} name the `handler_class` that the hub sends
   * @param {(step: import('./step.js').Step) => unknown} call
   * @param {{version?: string}} [options] `version` is stored with each result
   */
  register(name, call, { version } = {}) {
    if (typeof name !== 'string' || name === '') throw new TypeError(`handler: the name is ${String(name)}; give text`);
    if (typeof call !== 'function') throw new TypeError(`handler ${name}: give a function of a step`);
    this.#entries.set(name, { call, version });
    return call;
  }

  /** The names in a worker's hello. */
  get names() {
    return [...this.#entries.keys()];
  }

  find(name) {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new HandlerMissing(`there is no handler ${name} here`);
    return entry;
  }
}

/** The registry of `handler(…)`. */
export const registry = new Registry();

/** See Registry.register. */
export const handler = (name, call, options) => registry.register(name, call, options);
