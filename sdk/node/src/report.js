/** Sends what is due about held steps: requests to start, lines and results, each repeated until it is acknowledged. */

import { NEVER } from './held-steps.js';
import { PROTOCOL } from './messages.js';
import { failed } from './results.js';

/** Milliseconds that new lines wait at most for the acknowledgement of those before. */
const FLUSH_INTERVAL = 500;
const MAX_LINES_AT_ONCE = 1_000;
/** The share of a message that text may fill: escaping adds to it. */
const TEXT_SHARE = 0.125;
const LINE_OVERHEAD = 40;

export class Report {
  #resend;
  #maxBytes;

  constructor(resend, maxBytes) {
    this.#resend = resend;
    this.#maxBytes = maxBytes;
  }

  /** Calls `send` with kind and body of each message that is due; `send` returns false for one over the size limit. */
  due(heldSteps, now, send) {
    this.#sendStart(heldSteps, now, send);
    for (const each of heldSteps) this.#sendLines(each, now, send);
    const ended = heldSteps.filter((each) => each.result !== null && now - each.resultSentAt >= this.#resend);
    const batches = new Map();
    for (const each of ended) {
      each.resultSentAt = now;
      if (!batches.has(each.batchId)) batches.set(each.batchId, []);
      batches.get(each.batchId).push(each);
    }
    for (const [batchId, some] of batches) this.#sendResults(batchId, some, send);
  }

  nextDue(heldSteps) {
    return heldSteps.reduce((soonest, each) => Math.min(soonest, this.#dueOf(each)), Infinity);
  }

  #dueOf(heldStep) {
    const waiting = heldStep.needsStart ? heldStep.startSentAt + this.#resend : Infinity;
    const unacknowledged = heldStep.result === null ? Infinity : heldStep.resultSentAt + this.#resend;
    return Math.min(waiting, unacknowledged, this.#linesDue(heldStep));
  }

  #linesDue(heldStep) {
    if (heldStep.lines.length === 0) return Infinity;
    if (heldStep.unacknowledgedLines === 0) return NEVER;
    const more = heldStep.lines.length > heldStep.unacknowledgedLines;
    return heldStep.linesSentAt + (more ? Math.min(FLUSH_INTERVAL, this.#resend) : this.#resend);
  }

  #sendStart(heldSteps, now, send) {
    const waiting = heldSteps.filter((each) => each.needsStart && now - each.startSentAt >= this.#resend);
    if (waiting.length === 0) return;
    for (const each of waiting) each.startSentAt = now;
    send('start', { tokens: waiting.map((each) => each.token) });
  }

  /** Sends the lines that are due; before a result is first sent, all of them. */
  #sendLines(heldStep, now, send) {
    const ended = heldStep.result !== null;
    const unsent = heldStep.lines.length > heldStep.unacknowledgedLines;
    const beforeResult = ended && heldStep.resultSentAt === NEVER && unsent;
    if (!beforeResult && now < this.#linesDue(heldStep)) return;
    let from = 0;
    do {
      const some = this.#linesFrom(heldStep.lines, from);
      send('log', { token: heldStep.token, offset: heldStep.offset + from, lines: some });
      from += some.length;
    } while (ended && from < heldStep.lines.length);
    heldStep.linesSentAt = now;
    heldStep.unacknowledgedLines = from;
  }

  #linesFrom(lines, from) {
    let bytes = 0;
    let to = from;
    while (to < lines.length && to - from < MAX_LINES_AT_ONCE) {
      bytes += Buffer.byteLength(lines[to].text) + LINE_OVERHEAD;
      if (to > from && bytes > TEXT_SHARE * this.#maxBytes) break;
      to += 1;
    }
    return lines.slice(from, to);
  }

  /** Divides a message over the size limit. A single result that is too large becomes a failure. */
  #sendResults(batchId, ended, send) {
    if (send('results', results(batchId, ended))) return;
    if (ended.length > 1) {
      for (const each of ended) this.#sendResults(batchId, [each], send);
      return;
    }
    ended[0].result = this.#tooLarge(ended[0]);
    send('results', results(batchId, ended));
  }

  #tooLarge({ step, result }) {
    const size = Buffer.byteLength(JSON.stringify(result));
    const message = `its result is ${size} bytes; a message may have ${this.#maxBytes}: return a path or an address`;
    const { execution_time_ms, handler_version } = result.metadata;
    return failed(step, { type: 'TooLarge', message }, { execution_time_ms, handler_version, retryable: false });
  }
}

const results = (batchId, ended) => ({
  batch_id: batchId,
  protocol_version: PROTOCOL,
  results: ended.map((each) => each.result),
});
