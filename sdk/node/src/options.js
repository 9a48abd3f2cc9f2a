/** The options of a worker. Options that are not given come from the environment. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import { ConfigurationError } from './errors.js';
import { CODEC } from './frames.js';
import { identity } from './identity.js';
import { keys } from './keys.js';
import { PROTOCOL } from './messages.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const ADDRESS = /^(tcp|ipc):\/\/./;

/** @param {import('../index.js').WorkerOptions} given */
export function options(given = {}, env = process.env) {
  return Object.freeze({
    connect: addresses(given.connect ?? env.TURNOUT_CONNECT ?? ''),
    name: given.name ?? (env.TURNOUT_WORKER_NAME || `${hostname()}-${process.pid}`),
    labels: pairs(given.labels ?? env.TURNOUT_WORKER_LABELS ?? {}),
    concurrency: count(given.concurrency ?? (env.TURNOUT_WORKER_CONCURRENCY || 4)),
    curve: keys(given.curve, env, given.logger ?? logToStderr),
    discover: given.discover ?? true,
    grace: milliseconds('grace', given.grace ?? 30),
    killGrace: milliseconds('killGrace', given.killGrace ?? 5),
    maxMessageBytes: given.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    logger: given.logger ?? logToStderr,
    workerId: randomUUID(),
  });
}

/** The fields of hello that stay the same. */
export function hello({ name, labels, workerId, concurrency }, handlers) {
  return {
    versions: [PROTOCOL],
    worker_id: workerId,
    name,
    language: 'javascript',
    sdk_version: version,
    ...identity(),
    concurrency,
    labels,
    handlers,
    codecs: [CODEC],
  };
}

function addresses(given) {
  const list = (Array.isArray(given) ? given : given.split(',')).map((each) => each.trim()).filter(Boolean);
  const bad = list.find((each) => !ADDRESS.test(each));
  if (bad !== undefined) throw new ConfigurationError(`connect has '${bad}': write tcp://host:port or ipc:///path`);
  if (list.length > 0) return [...new Set(list)];
  throw new ConfigurationError('no hub to connect to: give connect or set TURNOUT_CONNECT (tcp://127.0.0.1:5890)');
}

function pairs(given) {
  if (typeof given !== 'string') {
    return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  }
  const list = given.split(',').map((each) => each.trim()).filter(Boolean);
  return Object.fromEntries(
    list.map((pair) => {
      const [, name, value] = /^([^=]*[^=\s])\s*=\s*(.+)$/.exec(pair) ?? [];
      if (name !== undefined) return [name, value];
      throw new ConfigurationError(`the label '${pair}' is none: write NAME=VALUE, such as gpu=true`);
    }),
  );
}

function count(value) {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= 10_000) return number;
  throw new ConfigurationError(`concurrency is ${value}; it must be a number from 1 to 10000`);
}

function milliseconds(name, seconds) {
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  throw new ConfigurationError(`${name} is ${seconds}; it must be seconds, not below 0`);
}

function logToStderr(text) {
  process.stderr.write(`turnout-worker: ${text}\n`);
}
