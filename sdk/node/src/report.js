/** What does a hub have to hear about the steps in hand, and when again? All is repeated until it is answered. */

import { NEVER } from './holdings.js';
import { PROTOCOL } from './messages.js';
import { failed } from './results.js';

/** New lines do not wait longer for the answer to those before. */
const FLUSH = 500;
const MOST_LINES_AT_ONCE = 1_000;
/** Of text, so much of what a message may hold: the rest is for what escaping adds. */
const SHARE_OF_TEXT = 0.125;
const AROUND_A_LINE = 40;

export class Report {
  #resend;
  #mostBytes;

  constructor(resend, mostBytes) {
    this.#resend = resend;
    this.#mostBytes = mostBytes;
  }

  /** Calls `say` with kind and body of each message that is due; it answers whether the hub takes so much at once. */
  due(holdings, now, say) {
    this.#ask(holdings, now, say);
    for (const each of holdings) this.#tellLines(each, now, say);
    const ended = holdings.filter((each) => each.result !== null && now - each.sent >= this.#resend);
    const batches = new Map();
    for (const each of ended) {
      each.sent = now;
      if (!batches.has(each.batchId)) batches.set(each.batchId, []);
      batches.get(each.batchId).push(each);
    }
    for (const [batchId, some] of batches) this.#answer(batchId, some, say);
  }

  nextDue(holdings) {
    return holdings.reduce((soonest, each) => Math.min(soonest, this.#dueOf(each)), Infinity);
  }

  #dueOf(holding) {
    const asking = holding.isAsking ? holding.asked + this.#resend : Infinity;
    const answering = holding.result === null ? Infinity : holding.sent + this.#resend;
    return Math.min(asking, answering, this.#linesDue(holding));
  }

  #linesDue(holding) {
    if (holding.lines.length === 0) return Infinity;
    if (holding.linesOut === 0) return NEVER;
    const more = holding.lines.length > holding.linesOut;
    return holding.linesSent + (more ? Math.min(FLUSH, this.#resend) : this.#resend);
  }

  #ask(holdings, now, say) {
    const asking = holdings.filter((each) => each.isAsking && now - each.asked >= this.#resend);
    if (asking.length === 0) return;
    for (const each of asking) each.asked = now;
    say('start', { tokens: asking.map((each) => each.token) });
  }

  /** Lines that are still here when the result goes are sent before it, all of them. */
  #tellLines(holding, now, say) {
    const ended = holding.result !== null;
    const lastWord = ended && holding.sent === NEVER && holding.lines.length > holding.linesOut;
    if (!lastWord && now < this.#linesDue(holding)) return;
    let from = 0;
    do {
      const some = this.#portion(holding.lines, from);
      say('log', { token: holding.token, offset: holding.offset + from, lines: some });
      from += some.length;
    } while (ended && from < holding.lines.length);
    holding.linesSent = now;
    holding.linesOut = from;
  }

  #portion(lines, from) {
    let bytes = 0;
    let to = from;
    while (to < lines.length && to - from < MOST_LINES_AT_ONCE) {
      bytes += Buffer.byteLength(lines[to].text) + AROUND_A_LINE;
      if (to > from && bytes > SHARE_OF_TEXT * this.#mostBytes) break;
      to += 1;
    }
    return lines.slice(from, to);
  }

  /** A message that the hub would not take is divided; a single result that is too large becomes a failure. */
  #answer(batchId, ended, say) {
    if (say('results', results(batchId, ended))) return;
    if (ended.length > 1) {
      for (const each of ended) this.#answer(batchId, [each], say);
      return;
    }
    ended[0].result = this.#tooLarge(ended[0]);
    say('results', results(batchId, ended));
  }

  #tooLarge({ step, result }) {
    const size = Buffer.byteLength(JSON.stringify(result));
    const message = `its result is ${size} bytes; a message may have ${this.#mostBytes}: return a path or an address`;
    const { execution_time_ms, handler_version } = result.metadata;
    return failed(step, { type: 'TooLarge', message }, { execution_time_ms, handler_version, retryable: false });
  }
}

const results = (batchId, ended) => ({
  batch_id: batchId,
  protocol_version: PROTOCOL,
  results: ended.map((each) => each.result),
});
