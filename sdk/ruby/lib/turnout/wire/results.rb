# frozen_string_literal: true

module Turnout
  module Wire
    # Builds the result documents of steps.
    module Results
      FAILED = %w[timed_out cancelled deferred].freeze

      module_function

      # The handler returned +output+.
      def completed(step, output, **more) = document(step, "completed", output, nil, more)

      # The handler failed.
      def failed(step, error, **more) = document(step, "failed", nil, error, more)

      # The handler was not called, or did not return.
      def unable(step, outcome, reason, **more)
        status = FAILED.include?(outcome) ? "failed" : "error"
        document(step, status, nil, { "type" => outcome, "message" => reason }, { outcome: outcome, **more })
      end

      def document(step, status, output, error, more)
        metadata = { "token" => step["metadata"]["token"], "attempt" => step["metadata"]["attempt"] || 0,
                     "retryable" => true }
        more.each { |name, value| metadata[name.name] = value unless value.nil? }
        { "step_id" => step["step_id"], "status" => status, "output" => output, "error" => error,
          "metadata" => metadata }
      end
    end
  end
end
