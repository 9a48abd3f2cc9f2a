/** Holds the steps of a worker over all its hubs. A token begins once; its result stays until it is acknowledged. */

import { readable } from './plain.js';
import { unable } from './results.js';

export const NEVER = -Infinity;
/** Finished tokens that are remembered. */
const MAX_REMEMBERED = 20_000;
/** Lines of one attempt that wait for their acknowledgement; further lines are dropped, and the last line says so. */
const MAX_LINES = 10_000;
const MISSING = { stream: 'log', text: '… lines are missing here …' };
const MAX_LINE_LENGTH = 64 * 1024;

/** One step that a worker holds. Times are milliseconds of a clock that never goes back. */
export class HeldStep {
  startSentAt = NEVER;
  resultSentAt = NEVER;
  linesSentAt = NEVER;
  /** @type {'waiting' | 'running' | 'done'} */
  state = 'waiting';
  result = null;
  lines = [];
  /** The number of lines that the hub has acknowledged, and of those that were sent and are not acknowledged. */
  offset = 0;
  unacknowledgedLines = 0;
  full = false;

  constructor(step, batchId, hub, receivedAt) {
    this.step = step;
    this.token = step.metadata.token;
    this.batchId = batchId;
    /** The hub that gave it. */
    this.hub = hub;
    /** True if the step needs no leave to begin, or has it. */
    this.granted = step.metadata.confirm_start !== true;
    /** True if a slot is free for it: leave to begin may be requested. */
    this.startWanted = false;
    /** The time after which its result is not needed, so that it need not begin. */
    this.deadline = receivedAt + (step.metadata.deadline_ms ?? Infinity);
  }

  /** True if the step needs leave to begin and could begin now. */
  get needsStart() {
    return this.state === 'waiting' && this.startWanted && !this.granted;
  }

  get listed() {
    return { token: this.token, state: this.state };
  }
}

export class HeldSteps {
  /** @type {Map<string, HeldStep>} */
  #table = new Map();
  #finished = new Set();

  get size() {
    return this.#table.size;
  }

  /** @returns {HeldStep | undefined} */
  get(token) {
    return this.#table.get(token);
  }

  [Symbol.iterator]() {
    return this.#table.values();
  }

  /** @returns {HeldStep[]} */
  filter(predicate) {
    return [...this.#table.values()].filter(predicate);
  }

  /** Adds a step. Returns false for a token that is held, or was: it does not begin again. */
  add(step, batchId, hub, now) {
    const { token } = step.metadata;
    if (this.#table.has(token) || this.#finished.has(token)) return false;
    this.#table.set(token, new HeldStep(step, batchId, hub, now));
    return true;
  }

  /** Records the result; the first one counts. */
  finish(token, result) {
    const heldStep = this.#table.get(token);
    if (heldStep === undefined || heldStep.result !== null) return;
    heldStep.result = result;
    heldStep.state = 'done';
    heldStep.resultSentAt = NEVER;
  }

  /** Finishes a step that will not begin here. */
  returnStep(token, reason) {
    this.finish(token, unable(this.#table.get(token).step, 'returned', reason));
  }

  /** Removes steps that no hub asks for any more. Returns the tokens that were running. */
  forget(tokens) {
    const running = tokens.filter((token) => this.#table.get(token)?.state === 'running');
    for (const token of tokens) {
      this.#table.delete(token);
      this.#finished.add(token);
    }
    for (const token of this.#finished) {
      if (this.#finished.size <= MAX_REMEMBERED) break;
      this.#finished.delete(token);
    }
    return running;
  }

  /** Adds a line that the step's handler wrote. */
  addLine(token, stream, text) {
    const heldStep = this.#table.get(token);
    if (heldStep === undefined || heldStep.full || heldStep.result !== null) return;
    heldStep.full = heldStep.lines.length >= MAX_LINES;
    heldStep.lines.push(heldStep.full ? MISSING : { stream, text: shortened(text) });
  }

  /** Drops the lines before `next`, which the hub has. */
  acknowledgeLines(token, next) {
    const heldStep = this.#table.get(token);
    if (heldStep === undefined) return;
    const count = Math.min(next - heldStep.offset, heldStep.lines.length);
    if (count <= 0) return;
    heldStep.lines.splice(0, count);
    heldStep.offset += count;
    heldStep.unacknowledgedLines = 0;
    heldStep.full = false;
    heldStep.linesSentAt = NEVER;
  }
}

const shortened = (text) => readable(text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}…` : text);
