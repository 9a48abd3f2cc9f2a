import { setTimeout as pause } from 'node:timers/promises';

import { handler, RetryAfter } from 'turnout-worker';

export async function sendNotification(step) {
  const { order, tracking_number } = step.args;
  const { name, email } = order.customer;
  // Some mail servers take nothing from strangers at their first call.
  if (name.length > 6 && step.attempt === 0) throw new RetryAfter(0.3, `${email}: try again later`);
  step.log(`mail from ${step.config.from} to ${email}: Dear ${name}, your parcel is ${tracking_number}.`);
  // Ends early if the step is cancelled or its time is over.
  await pause(20, undefined, { signal: step.signal });
  return { to: email, by: `node ${process.versions.node}` };
}

handler('OrderFulfillment::SendNotification', sendNotification);
