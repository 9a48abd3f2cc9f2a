/** Runs a worker until signals or a hub stop it. */

import { Worker } from './worker.js';

const SIGNALS = ['SIGTERM', 'SIGINT'];

/**
 * Runs until SIGTERM or SIGINT (or a hub) asks for a drain, and every held step is done. A second signal, or the end of
 * the grace period, ends the process with exit code 1.
 * @param {import('../index.js').WorkerOptions} [options]
 */
export async function run(options) {
  const worker = new Worker(options);
  const ended = worker.run();
  const stop = () => worker.stop();
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    if ((await ended) === 'stopped') process.exit(1);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}
