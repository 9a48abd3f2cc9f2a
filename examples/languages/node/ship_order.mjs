import { handler, PermanentError, RetryAfter } from 'turnout-worker';

export function shipOrder(step) {
  const { order, payment, label } = step.args;
  if (!payment.transaction_id) throw new PermanentError('not paid');
  if (order.order_id % 4 === 0 && step.attempt === 0) throw new RetryAfter(0.2, 'the van is full');
  step.log(`order ${order.order_id} goes with ${step.config.carrier}`);
  return { tracking_number: label.tracking_number, by: `node ${process.versions.node}` };
}

handler('OrderFulfillment::ShipOrder', shipOrder, { version: '1.0' });
