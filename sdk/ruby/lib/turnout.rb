# frozen_string_literal: true

require "turnout/version"
require "turnout/errors"
require "turnout/registry"
require "turnout/branch"

# Handlers for Turnout's workflows.
#
#   Turnout.handler("OrderFulfillment::ShipOrder") { |step| { tracking: ship(step.context[:order_id]) } }
#   Turnout.run(connect: "tcp://127.0.0.1:5890")
module Turnout
  class << self
    # All handlers of this process.
    def registry = @registry ||= Registry.new

    # Registers a handler; see Registry#register.
    def handler(name, callable = nil, version: nil, &block)
      registry.register(name, callable, version: version, &block)
    end

    # +true+: a +handler_class+ that is not registered is looked up as a class. Give the name of a module to allow only
    # classes in it.
    def autoload_handlers=(value)
      registry.autoload = value
    end

    # Wraps every handler: the block gets the step and a callable, and must call it.
    #
    #   Turnout.around { |_step, handler| Rails.application.executor.wrap { handler.call } }
    def around(&block) = registry.around(&block)

    # Runs a worker until it is stopped; see Worker::Options. ZeroMQ is only loaded here.
    def run(**options)
      require "turnout/worker"
      Worker.new(**options).run
    end
  end
end
