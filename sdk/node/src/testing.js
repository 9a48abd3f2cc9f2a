/** Runs one step against one handler, without a hub and without sockets. */

import { Cancelled, TimedOut } from './errors.js';
import { Job } from './job.js';
import { Registry, registry as everyHandler } from './registry.js';

const MAX_TIMER = 2 ** 31 - 1;

/**
 * Runs a step document against a handler (a function, or a registered name) and resolves to the result document. Fields
 * that the document lacks are filled in. Lines and progress are added to the arrays; `signal` cancels.
 *
 *   const result = await runStep(shipOrder, { task_context: { order_id: 7 } });
 *   result.status   // 'completed'
 */
export async function runStep(handler, document = {}, given = {}) {
  const { lines = [], progress = [], registry = everyHandler, signal, killGrace = 5 } = given;
  const [handlers, name] = typeof handler === 'string' ? [registry, handler] : [only(handler), 'handler'];
  const job = new Job(complete(document, name), handlers, {
    onLine: (stream, text) => lines.push({ stream, text }),
    onProgress: (done, total, message) => progress.push({ done, total, message }),
  });
  return within(job, signal, killGrace);
}

function only(handler) {
  const own = new Registry();
  own.register('handler', handler);
  return own;
}

function complete(document, name) {
  const defaults = {
    step_id: '1',
    task_id: '1',
    step_name: 'step',
    handler_class: name,
    handler_config: {},
    task_context: {},
    previous_results: {},
  };
  const metadata = { token: '1.1', attempt: 0, retry_limit: 0, ...document.metadata };
  return JSON.parse(JSON.stringify({ ...defaults, ...document, metadata }));
}

/** Enforces the step's timeout; an interrupted handler is awaited for `killGrace` seconds at most. */
async function within(job, signal, killGrace) {
  const timers = [];
  const abandoned = new Promise((resolve) => {
    const stop = (error) => {
      job.interrupt(error);
      timers.push(setTimeout(() => resolve(job.abandoned()), killGrace * 1000));
    };
    const { timeout_ms: timeout } = job.document.metadata;
    const late = () => stop(new TimedOut(`not done after ${timeout} ms`));
    // A longer timeout than a timer supports counts as none.
    if ((timeout ?? Infinity) <= MAX_TIMER) timers.push(setTimeout(late, timeout));
    signal?.addEventListener('abort', () => stop(new Cancelled('cancelled')), { once: true });
    if (signal?.aborted) stop(new Cancelled('cancelled'));
  });
  try {
    return await Promise.race([job.perform(), abandoned]);
  } finally {
    timers.forEach(clearTimeout);
  }
}
