/**
 * What can a handler throw, and what is thrown at it?
 *
 *   Error
 *   └─ TurnoutError
 *      ├─ PermanentError      another attempt would not help
 *      ├─ RetryAfter          try again, but not before so many seconds
 *      ├─ Defer               nothing went wrong: run me again later, from the top
 *      ├─ NotJson             the handler returned something that cannot travel
 *      ├─ HandlerMissing      nobody answers to this name here
 *      ├─ ConfigurationError  an option of the worker is wrong
 *      ├─ Refused             no hub wants this worker
 *      └─ Interruption        the reason of `step.signal`
 *         ├─ Cancelled
 *         └─ TimedOut
 */

export class TurnoutError extends Error {
  get name() {
    return this.constructor.name;
  }
}

export class PermanentError extends TurnoutError {}

export class RetryAfter extends TurnoutError {
  /** @param {number} seconds that must pass before the next attempt */
  constructor(seconds, message = 'later') {
    super(message);
    this.seconds = duration('RetryAfter', seconds);
  }
}

export class Defer extends TurnoutError {
  /** @param {number} seconds until it runs again, from the top, with `saved` as `step.saved`; it costs no attempt */
  constructor(seconds, { saved = null } = {}) {
    super(`deferred for ${seconds} s`);
    this.seconds = duration('Defer', seconds);
    this.saved = saved;
  }
}

export class NotJson extends TurnoutError {}
export class HandlerMissing extends TurnoutError {}
export class ConfigurationError extends TurnoutError {}
export class Refused extends TurnoutError {}

export class Interruption extends TurnoutError {
  /** What the hub is told. */
  outcome = 'cancelled';
}

export class Cancelled extends Interruption {}

export class TimedOut extends Interruption {
  outcome = 'timed_out';
}

function duration(what, seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw new TypeError(`${what}: seconds is ${String(seconds)}; it must be a number that is not negative`);
  }
  return seconds;
}
