/** The fields of each kind of message between hub and worker (docs/reference/protocol.md). */

import { fields, flag, integer, labels, list, listOf, nullable, number, object, oneOf, text, texts } from './shapes.js';

/** The version of the protocol. */
export const PROTOCOL = '1.0';

const held = fields({ token: text, state: oneOf('waiting', 'running', 'done') });

const step = fields(
  {
    step_id: text,
    task_id: text,
    step_name: text,
    handler_class: text,
    metadata: fields(
      { token: text },
      {
        attempt: integer,
        retry_limit: integer,
        failures: integer,
        timeout_ms: nullable(integer),
        deadline_ms: nullable(integer),
        idempotency_key: text,
        args: object,
        positional: list,
        confirm_start: flag,
        task_name: text,
        workflow: text,
        labels,
        shadow: flag,
        index: nullable(integer),
        context: nullable(object),
        traceparent: text,
      },
    ),
  },
  { handler_config: object, previous_results: object },
);

const result = fields(
  {
    step_id: text,
    status: oneOf('completed', 'failed', 'error'),
    metadata: fields(
      { token: text },
      {
        attempt: integer,
        execution_time_ms: nullable(number),
        handler_version: text,
        retryable: flag,
        retry_after_ms: nullable(integer),
        deferral: nullable(object),
        chosen: nullable(texts),
        outcome: nullable(
          oneOf('timed_out', 'cancelled', 'deferred', 'returned', 'crashed', 'lost', 'handler_missing'),
        ),
      },
    ),
  },
  { error: nullable(fields({ message: text }, { type: text, backtrace: texts, mro: texts })) },
);

/** @type {Map<string, import('./shapes.js').Shape>} */
export const MESSAGES = new Map(
  Object.entries({
    hello: fields(
      { versions: texts, worker_id: text, seq: integer, codecs: texts, credits: integer, handlers: texts },
      {
        labels,
        name: text,
        language: text,
        sdk_version: text,
        host: text,
        pid: integer,
        boot_id: text,
        pid_namespace: text,
        process_started: text,
        concurrency: integer,
        in_flight: listOf(held),
      },
    ),
    welcome: fields(
      {
        protocol_version: text,
        session: text,
        seq: integer,
        hub_id: text,
        codec: text,
        heartbeat_ms: integer,
        lease_ms: integer,
        resend_ms: integer,
        max_message_bytes: integer,
      },
      { hubs: texts, release: texts },
    ),
    credit: fields({ seq: integer, credits: integer }),
    heartbeat: fields({ seq: integer }, { credits: integer, in_flight: listOf(held), keep: texts, hubs: texts }),
    steps: fields({ batch_id: text, protocol_version: text, steps: listOf(step) }),
    received: fields({ tokens: texts }),
    start: fields({ tokens: texts }),
    started: fields({}, { granted: texts, denied: texts }),
    results: fields({ batch_id: text, protocol_version: text, results: listOf(result) }),
    ack: fields({ tokens: texts }),
    cancel: fields({ tokens: texts }, { reason: text }),
    log: fields({ token: text, offset: integer, lines: listOf(fields({ stream: text, text })) }),
    logged: fields({ token: text, next: integer }),
    progress: fields({ token: text, done: number }, { total: nullable(number), message: text }),
    drain: fields({}, { reason: text }),
    bye: fields({}, { reason: text }),
    error: fields({ code: text }, { message: text, retry: flag, tokens: texts }),
  }),
);
