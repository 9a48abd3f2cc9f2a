import assert from 'node:assert/strict';
import { test } from 'node:test';

import { runStep } from 'turnout-worker';

import { shipOrder } from './ship_order.mjs';

const PAID = { order: { order_id: 7 }, payment: { transaction_id: 't' }, label: { tracking_number: 'TN7' } };

const ship = (args, metadata = {}, said = {}) =>
  runStep(shipOrder, { handler_config: { carrier: 'sea' }, metadata: { args, ...metadata } }, said);

test('it ships', async () => {
  const lines = [];
  const { output } = await ship(PAID, {}, { lines });
  assert.equal(output.tracking_number, 'TN7');
  assert.deepEqual(lines, [{ stream: 'log', text: 'order 7 goes with sea' }]);
});

test('it does not ship what is not paid', async () => {
  const { status, error, metadata } = await ship({ ...PAID, payment: {} });
  assert.deepEqual([status, error.message, metadata.retryable], ['failed', 'not paid', false]);
});

test('a full van is tried again later', async () => {
  const full = { ...PAID, order: { order_id: 8 } };
  assert.equal((await ship(full)).metadata.retry_after_ms, 200);
  assert.equal((await ship(full, { attempt: 1 })).status, 'completed');
});
