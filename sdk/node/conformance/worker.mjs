// The worker program of `turnout conformance --cmd "node sdk/node/conformance/worker.mjs"`.

import { appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { PermanentError, RetryAfter, handler, run } from '../index.js';

handler('conformance.echo', ({ args, positional, config, context, previous }) => ({
  args,
  positional,
  config,
  context,
  previous,
}));
handler('conformance.fail', () => {
  throw new Error('failed on purpose');
});
handler('conformance.fail_permanently', () => {
  throw new PermanentError('never again');
});
handler('conformance.retry_after', () => {
  throw new RetryAfter(1.5, 'later');
});
handler('conformance.sleep', ({ config, signal }) => sleep(config.ms, 'slept', { signal }));
handler('conformance.say', async (step) => {
  for (const line of step.config.lines) step.log(line, 'stdout');
  if (step.config.ms !== undefined) await sleep(step.config.ms, null, { signal: step.signal });
  return step.config.lines.length;
});
handler('conformance.progress', (step) => {
  step.progress(1, 2);
  step.progress(2, 2);
});
handler('conformance.append', (step) => appendFile(step.config.file, `${step.token}\n`));
handler('conformance.large', ({ config }) => 'x'.repeat(config.size));

await run();
process.exit();
