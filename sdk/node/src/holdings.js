/** What does a worker have in hand, over all its hubs? A token begins once; its result stays until somebody has it. */

import { readable } from './plain.js';
import { unable } from './results.js';

export const NEVER = -Infinity;
/** Tokens that are finished and known to be. */
const REMEMBERED = 20_000;
/** Lines of one attempt that wait for their acknowledgement; what comes then is dropped, and the last line says so. */
const MOST_LINES = 10_000;
const MISSING = { stream: 'log', text: '… lines are missing here …' };
const LONGEST_LINE = 64 * 1024;

/** One step that a worker has in hand. Times are milliseconds of a clock that never goes back. */
export class Holding {
  asked = NEVER;
  sent = NEVER;
  linesSent = NEVER;
  /** @type {'waiting' | 'running' | 'done'} */
  state = 'waiting';
  result = null;
  lines = [];
  /** How many lines came before these, and how many of these are under way. */
  offset = 0;
  linesOut = 0;
  full = false;

  constructor(step, batchId, hub, arrived) {
    this.step = step;
    this.token = step.metadata.token;
    this.batchId = batchId;
    /** Who gave it. */
    this.hub = hub;
    /** It needs no leave to begin, or has it. */
    this.granted = step.metadata.confirm_start !== true;
    /** There is a place for it: leave may be asked for. */
    this.asks = false;
    /** When nobody would want its result any more, so that it need not begin. */
    this.deadline = arrived + (step.metadata.deadline_ms ?? Infinity);
  }

  /** Whether it needs leave to begin, and could begin now. */
  get isAsking() {
    return this.state === 'waiting' && this.asks && !this.granted;
  }

  get listed() {
    return { token: this.token, state: this.state };
  }
}

export class Holdings {
  /** @type {Map<string, Holding>} */
  #table = new Map();
  #finished = new Set();

  get size() {
    return this.#table.size;
  }

  /** @returns {Holding | undefined} */
  get(token) {
    return this.#table.get(token);
  }

  [Symbol.iterator]() {
    return this.#table.values();
  }

  /** @returns {Holding[]} */
  filter(question) {
    return [...this.#table.values()].filter(question);
  }

  /** Whether it is new: a token that is here, or was, does not begin again. */
  take(step, batchId, hub, now) {
    const { token } = step.metadata;
    if (this.#table.has(token) || this.#finished.has(token)) return false;
    this.#table.set(token, new Holding(step, batchId, hub, now));
    return true;
  }

  /** Its result is there; the first one counts. */
  finish(token, result) {
    const holding = this.#table.get(token);
    if (holding === undefined || holding.result !== null) return;
    holding.result = result;
    holding.state = 'done';
    holding.sent = NEVER;
  }

  /** It will not begin here. */
  giveBack(token, reason) {
    this.finish(token, unable(this.#table.get(token).step, 'returned', reason));
  }

  /** Nobody asks for these any more; returns those that were running. */
  forget(tokens) {
    const running = tokens.filter((token) => this.#table.get(token)?.state === 'running');
    for (const token of tokens) {
      this.#table.delete(token);
      this.#finished.add(token);
    }
    for (const token of this.#finished) {
      if (this.#finished.size <= REMEMBERED) break;
      this.#finished.delete(token);
    }
    return running;
  }

  /** A line that the step's handler wrote. */
  say(token, stream, text) {
    const holding = this.#table.get(token);
    if (holding === undefined || holding.full || holding.result !== null) return;
    holding.full = holding.lines.length >= MOST_LINES;
    holding.lines.push(holding.full ? MISSING : { stream, text: shortened(text) });
  }

  /** The hub has all lines before this one. */
  logged(token, next) {
    const holding = this.#table.get(token);
    if (holding === undefined) return;
    const count = Math.min(next - holding.offset, holding.lines.length);
    if (count <= 0) return;
    holding.lines.splice(0, count);
    holding.offset += count;
    holding.linesOut = 0;
    holding.full = false;
    holding.linesSent = NEVER;
  }
}

const shortened = (text) => readable(text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text);
