# frozen_string_literal: true

require "turnout/wire/shapes"

module Turnout
  module Wire
    # The version of the protocol.
    PROTOCOL = "1.0"

    # The fields of each kind of message between hub and worker (docs/reference/protocol.md).
    module Messages
      include Shapes

      HELD = Fields.new({ "token" => TEXT, "state" => Shapes.one_of("waiting", "running", "done") })

      STEP = Fields.new(
        {
          "step_id" => TEXT, "task_id" => TEXT, "step_name" => TEXT, "handler_class" => TEXT,
          "metadata" => Fields.new(
            { "token" => TEXT },
            "attempt" => INTEGER, "retry_limit" => INTEGER, "failures" => INTEGER, "timeout_ms" => Nullable.new(INTEGER),
            "deadline_ms" => Nullable.new(INTEGER), "idempotency_key" => TEXT, "args" => OBJECT, "positional" => LIST,
            "confirm_start" => FLAG, "task_name" => TEXT, "workflow" => TEXT, "labels" => LABELS, "shadow" => FLAG,
            "index" => Nullable.new(INTEGER), "context" => Nullable.new(OBJECT), "traceparent" => TEXT
          )
        },
        "handler_config" => OBJECT, "previous_results" => OBJECT
      )

      RESULT = Fields.new(
        {
          "step_id" => TEXT, "status" => Shapes.one_of("completed", "failed", "error"),
          "metadata" => Fields.new(
            { "token" => TEXT },
            "attempt" => INTEGER, "execution_time_ms" => Nullable.new(NUMBER), "handler_version" => TEXT,
            "retryable" => FLAG, "retry_after_ms" => Nullable.new(INTEGER), "deferral" => Nullable.new(OBJECT),
            "chosen" => Nullable.new(TEXTS),
            "outcome" => Nullable.new(
              Shapes.one_of("timed_out", "cancelled", "deferred", "returned", "crashed", "lost", "handler_missing")
            )
          )
        },
        "error" => Nullable.new(Fields.new({ "message" => TEXT }, "type" => TEXT, "backtrace" => TEXTS, "mro" => TEXTS))
      )

      SHAPES = {
        "hello" => Fields.new(
          {
            "versions" => TEXTS, "worker_id" => TEXT, "seq" => INTEGER, "codecs" => TEXTS, "credits" => INTEGER,
            "handlers" => TEXTS
          },
          "labels" => LABELS, "name" => TEXT, "language" => TEXT, "sdk_version" => TEXT, "host" => TEXT,
          "pid" => INTEGER, "boot_id" => TEXT, "pid_namespace" => TEXT, "process_started" => TEXT,
          "concurrency" => INTEGER, "in_flight" => ListOf.new(HELD)
        ),
        "welcome" => Fields.new(
          {
            "protocol_version" => TEXT, "session" => TEXT, "seq" => INTEGER, "hub_id" => TEXT, "codec" => TEXT,
            "heartbeat_ms" => INTEGER, "lease_ms" => INTEGER, "resend_ms" => INTEGER, "max_message_bytes" => INTEGER
          },
          "hubs" => TEXTS, "release" => TEXTS
        ),
        "credit" => Fields.new({ "seq" => INTEGER, "credits" => INTEGER }),
        "heartbeat" => Fields.new(
          { "seq" => INTEGER },
          "credits" => INTEGER, "in_flight" => ListOf.new(HELD), "keep" => TEXTS, "hubs" => TEXTS
        ),
        "steps" => Fields.new({ "batch_id" => TEXT, "protocol_version" => TEXT, "steps" => ListOf.new(STEP) }),
        "received" => Fields.new({ "tokens" => TEXTS }),
        "start" => Fields.new({ "tokens" => TEXTS }),
        "started" => Fields.new({}, "granted" => TEXTS, "denied" => TEXTS),
        "results" => Fields.new({ "batch_id" => TEXT, "protocol_version" => TEXT, "results" => ListOf.new(RESULT) }),
        "ack" => Fields.new({ "tokens" => TEXTS }),
        "cancel" => Fields.new({ "tokens" => TEXTS }, "reason" => TEXT),
        "log" => Fields.new(
          {
            "token" => TEXT, "offset" => INTEGER,
            "lines" => ListOf.new(Fields.new({ "stream" => TEXT, "text" => TEXT }))
          }
        ),
        "logged" => Fields.new({ "token" => TEXT, "next" => INTEGER }),
        "progress" => Fields.new(
          { "token" => TEXT, "done" => NUMBER },
          "total" => Nullable.new(NUMBER), "message" => TEXT
        ),
        "drain" => Fields.new({}, "reason" => TEXT),
        "bye" => Fields.new({}, "reason" => TEXT),
        "error" => Fields.new({ "code" => TEXT }, "message" => TEXT, "retry" => FLAG, "tokens" => TEXTS)
      }.freeze
    end
  end
end
