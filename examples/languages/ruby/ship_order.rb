require "turnout"

Turnout.handler("OrderFulfillment::ShipOrder", version: "1.0") do |step|
  order = step.args[:order]
  raise Turnout::PermanentError, "not paid" unless step.args[:payment][:transaction_id]
  raise Turnout::RetryAfter.new(0.2, "the van is full") if (order[:order_id] % 4).zero? && step.attempt.zero?

  step.log("order #{order[:order_id]} goes with #{step.config[:carrier]}")
  { tracking_number: step.args[:label][:tracking_number], by: "ruby #{RUBY_VERSION}" }
end
