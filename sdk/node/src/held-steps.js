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
    this.receivedAt = receivedAt;
  }

  /** Returns whether its deadline has passed: its result is not needed, so it need not begin. */
  isLate(now) {
    return now - this.receivedAt >= (this.step.metadata.deadline_ms ?? Infinity);
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
  /** Those that have not begun, in the order of their arrival. */
  #waiting = new Map();
  /** Those with a result, lines or a wish to begin which their hub may not have been sent. */
  #changed = new Set();
  #finished = new Set();
  #done = 0;

  get size() {
    return this.#table.size;
  }

  /** The number of steps with a result. */
  get unacknowledged() {
    return this.#done;
  }

  /** @returns {HeldStep[]} */
  get waiting() {
    return [...this.#waiting.values()];
  }

  /**
   * Returns the steps with news for their hub that were not returned before.
   * @returns {HeldStep[]}
   */
  takeChanged() {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
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
    const heldStep = new HeldStep(step, batchId, hub, now);
    this.#table.set(token, heldStep);
    this.#waiting.set(token, heldStep);
    return true;
  }

  /**
   * Called when a slot is free for a step that needs leave to begin. A granted step counts as begun, even if this worker
   * dies.
   */
  requestStart(heldStep) {
    if (heldStep.startWanted) return;
    heldStep.startWanted = true;
    this.#changed.add(heldStep);
  }

  /** Called when the handler of a step is started. */
  begin(heldStep) {
    heldStep.state = 'running';
    this.#waiting.delete(heldStep.token);
  }

  /** Called when a step that was to begin may not begin any more now. */
  waitAgain(heldStep) {
    if (this.#table.get(heldStep.token) !== heldStep || heldStep.state !== 'running') return;
    heldStep.state = 'waiting';
    this.#waiting = new Map([...this.#table].filter(([, each]) => each.state === 'waiting'));
  }

  /** Records the result; the first one counts. */
  finish(token, result) {
    const heldStep = this.#table.get(token);
    if (heldStep === undefined || heldStep.result !== null) return;
    heldStep.result = result;
    heldStep.state = 'done';
    heldStep.resultSentAt = NEVER;
    this.#done += 1;
    this.#waiting.delete(token);
    this.#changed.add(heldStep);
  }

  /** Finishes a step that will not begin here. */
  returnStep(token, reason) {
    this.finish(token, unable(this.#table.get(token).step, 'returned', reason));
  }

  /** Removes steps that no hub asks for any more. Returns the tokens that were running. */
  forget(tokens) {
    const running = tokens.filter((token) => this.#table.get(token)?.state === 'running');
    for (const token of tokens) {
      const heldStep = this.#table.get(token);
      if (heldStep?.state === 'done') this.#done -= 1;
      this.#table.delete(token);
      this.#waiting.delete(token);
      this.#changed.delete(heldStep);
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
    this.#changed.add(heldStep);
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
    this.#changed.add(heldStep);
  }
}

const shortened = (text) => readable(text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}…` : text);
