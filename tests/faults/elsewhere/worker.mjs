// The handler of the fault tests in Node.

import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const { handler, run } = await import(pathToFileURL(`${process.env.TURNOUT_FAULTS_SDK}/index.js`));

const file = openSync(process.env.TURNOUT_FAULTS_FILE, 'a');

function note(what, { token, attempt }) {
  writeSync(file, `${what} ${token} ${attempt} node ${process.pid}\n`);
}

for (const name of ['elsewhere.any', 'elsewhere.node']) {
  handler(name, async (step) => {
    note('begin', step);
    await sleep(Math.random() * step.args.seconds * 1000);
    note('end', step);
    return `${step.args.text}>${step.name}`;
  });
}

handler('elsewhere.trace', (step) => step.traceparent);

await run();
process.exit();
