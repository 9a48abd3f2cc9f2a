# frozen_string_literal: true

require_relative "ship_order"
require_relative "process_payment_handler"

# With Rails, this file follows -r ./config/environment, and the class is one of the app's own.
Turnout.handler("OrderFulfillment::ProcessPaymentHandler", OrderFulfillment::ProcessPaymentHandler)
