/** A worker of Turnout in Node: handlers for steps, and the process that runs them. */

export {
  Cancelled,
  ConfigurationError,
  Defer,
  NotJson,
  PermanentError,
  Refused,
  RetryAfter,
  TimedOut,
  TurnoutError,
} from './src/errors.js';
export { Branch, Registry, handler } from './src/registry.js';
export { run } from './src/run.js';
export { runStep } from './src/testing.js';
export { Worker } from './src/worker.js';
