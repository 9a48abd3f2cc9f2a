# frozen_string_literal: true

require_relative "ship_order"
require_relative "process_payment_handler"

# Every class in this module that has process or call. With Rails, -r ./config/environment comes before this file, and the
# classes are the app's own.
Turnout.autoload_handlers = "OrderFulfillment"
