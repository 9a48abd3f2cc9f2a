/** How does a program become a worker? It runs one until it is told to stop, by signals or by a hub. */

import { Worker } from './worker.js';

const SIGNALS = ['SIGTERM', 'SIGINT'];

/**
 * Works until SIGTERM or SIGINT (or a hub) asks for a drain, and everything in hand is done. A second signal, or the end
 * of the grace, ends the process with exit code 1.
 * @param {import('../index.js').WorkerOptions} [options]
 */
export async function run(options) {
  const worker = new Worker(options);
  const ended = worker.run();
  const told = () => worker.stop();
  for (const signal of SIGNALS) process.on(signal, told);
  try {
    if ((await ended) === 'stopped') process.exit(1);
  } finally {
    for (const signal of SIGNALS) process.off(signal, told);
  }
}
