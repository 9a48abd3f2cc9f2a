/**
 * The errors that a handler can throw, and the reasons of its signal.
 *
 *   Error
 *   └─ TurnoutError
 *      ├─ PermanentError      another attempt would not help
 *      ├─ RetryAfter          retry, but not before so many seconds
 *      ├─ Defer               not a failure: run again later, from the top
 *      ├─ NotJson             the handler returned a value that is not JSON
 *      ├─ HandlerMissing      no handler of this name is registered
 *      ├─ ConfigurationError  an option of the worker is wrong
 *      ├─ Refused             every hub refuses this worker
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
  /** @param {number} seconds until it runs again, from the top, with `saved` as `step.saved`; it uses up no retry */
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
  /** The outcome in the result document. */
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
