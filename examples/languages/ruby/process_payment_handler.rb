# frozen_string_literal: true

module OrderFulfillment
  # A class as a Rails app may have had it for years.
  class ProcessPaymentHandler
    VERSION = "2.1.0"

    class GatewayTimeout < StandardError; end

    def process(task, _sequence, step)
      order = task.context[:order]
      total = step.inputs[:total]
      raise Turnout::PermanentError, "card …#{order[:card]} was declined" if order[:card].end_with?("0002")
      raise GatewayTimeout, "the payment service did not answer" if total > 100 && step.attempt.zero?

      puts "charging #{total} #{step.handler_config[:currency]} to card …#{order[:card]}"
      # The same key in every attempt: a service that knows it charges once.
      { transaction_id: "txn_#{step.idempotency_key[-12..]}", by: "ruby #{RUBY_VERSION}" }
    end
  end
end
