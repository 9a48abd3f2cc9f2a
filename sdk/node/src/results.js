/** Builds the result documents of steps. */

const FAILED = ['timed_out', 'cancelled', 'deferred'];

/** The handler returned `output`. */
export const completed = (step, output, facts = {}) => document(step, 'completed', output, null, facts);

/** The handler failed. */
export const failed = (step, error, facts = {}) => document(step, 'failed', null, error, facts);

/** The handler was not called, or did not return. */
export function unable(step, outcome, reason, facts = {}) {
  const status = FAILED.includes(outcome) ? 'failed' : 'error';
  return document(step, status, null, { type: outcome, message: reason }, { outcome, ...facts });
}

function document(step, status, output, error, facts) {
  const metadata = { token: step.metadata.token, attempt: step.metadata.attempt ?? 0, retryable: true };
  for (const [name, value] of Object.entries(facts)) {
    if (value !== undefined) metadata[name] = value;
  }
  return { step_id: step.step_id, status, output, error, metadata };
}
