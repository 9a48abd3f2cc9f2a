# frozen_string_literal: true

# A handler program that knows nothing but two endpoints and the documents that travel between them: it subscribes to
# "steps", publishes "results", and calls handler objects with process(task, sequence, step).
#
#   ruby pubsub_handler.rb STEP_ENDPOINT RESULT_ENDPOINT [FILE]
#
# Each start of a handler is a line in FILE. It says "ready" when its sockets are there, and ends on SIGTERM.

require "ffi-rzmq"
require "json"

module TaskerCore
  Task = Struct.new(:task_id, :context)
  Step = Struct.new(:id, :name, :handler_class, :handler_config, :arguments, :attempt, :retry_limit)

  # What the steps before this one have returned, by their names.
  class Sequence
    def initialize(results)
      @results = results
    end

    def result_of(name)
      @results.fetch(name.to_sym)
    end
  end

  class PermanentError < StandardError; end

  # Finds handlers by the class that a step names.
  class HandlerRegistry
    def initialize(*handlers)
      @handlers = handlers.to_h { |handler| [handler.class.name, handler] }
    end

    def find(handler_class)
      @handlers.fetch(handler_class) { raise KeyError, "No step handler found for #{handler_class}" }
    end
  end

  # One thread has both sockets. Batches are worked on in threads of their own, which leave what they have to say in a
  # queue.
  class ZmqPubSubHandler
    def initialize(handler_registry:, step_sub_endpoint: "inproc://steps", result_pub_endpoint: "inproc://results",
                   poll_interval_ms: 1)
      @registry = handler_registry
      @poll_interval_ms = poll_interval_ms
      @answers = Queue.new
      @context = ZMQ::Context.new
      @results = @context.socket(ZMQ::PUB)
      check(@results.bind(result_pub_endpoint), "bind #{result_pub_endpoint}")
      @steps = @context.socket(ZMQ::SUB)
      @steps.setsockopt(ZMQ::LINGER, 0)
      check(@steps.connect(step_sub_endpoint), "connect #{step_sub_endpoint}")
      check(@steps.setsockopt(ZMQ::SUBSCRIBE, "steps"), "subscribe")
    end

    def start
      @running = true
      @thread = Thread.new { run_handler_loop }
    end

    def stop
      @running = false
      @thread&.join(5)
      @steps.close
      @results.close
      @context.terminate
    end

    private

    def run_handler_loop
      poller = ZMQ::Poller.new
      poller.register_readable(@steps)
      while @running
        poller.poll(@poll_interval_ms)
        while (message = receive_step_message)
          take(message)
        end
        publish_results
      end
    end

    def receive_step_message
      message = +""
      @steps.recv_string(message, ZMQ::DONTWAIT).negative? ? nil : message
    end

    def take(message)
      topic, body = message.split(" ", 2)
      return unless topic == "steps"

      request = JSON.parse(body, symbolize_names: true)
      Thread.new { @answers << process_batch(request) }
    rescue JSON::ParserError => e
      warn "a message is dropped: #{e.message[0, 100]}"
    end

    def publish_results
      @results.send_string("results #{JSON.generate(@answers.pop(true))}") until @answers.empty?
    end

    def process_batch(request)
      {
        batch_id: request[:batch_id],
        protocol_version: request[:protocol_version],
        results: request[:steps].map { |step| process_single_step(step) }
      }
    end

    def process_single_step(step)
      start_time = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      handler = @registry.find(step[:handler_class])
      output = handler.process(task_of(step), Sequence.new(step[:previous_results]), step_of(step))
      took = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start_time) * 1000
      {
        step_id: step[:step_id], status: "completed", output: output, error: nil,
        metadata: { execution_time_ms: took, handler_version: handler.class::VERSION, retryable: true }
      }
    rescue KeyError => e
      failure(step, "error", e, retryable: false)
    rescue StandardError => e
      failure(step, "failed", e, retryable: !e.is_a?(PermanentError))
    end

    def failure(step, status, error, retryable:)
      {
        step_id: step[:step_id], status: status, output: nil,
        error: { message: error.message, backtrace: error.backtrace.first(5) },
        metadata: { retryable: retryable }
      }
    end

    def task_of(step)
      Task.new(step[:task_id], step[:task_context])
    end

    def step_of(step)
      metadata = step[:metadata]
      Step.new(step[:step_id], step[:step_name], step[:handler_class], step[:handler_config],
               metadata[:args] || {}, metadata[:attempt], metadata[:retry_limit])
    end

    def check(code, what)
      raise "#{what}: #{ZMQ::Util.error_string}" unless ZMQ::Util.resultcode_ok?(code)
    end
  end
end

module OrderFulfillment
  LOG = ARGV[2]

  def self.note(step)
    File.open(LOG, "a") { |file| file.write("#{step.id} #{step.name} #{step.attempt} #{Process.pid}\n") } if LOG
  end

  class ValidateOrder
    VERSION = "1.0.0"

    def process(task, _sequence, step)
      OrderFulfillment.note(step)
      raise TaskerCore::PermanentError, "order #{task.context[:order_id]} has no items" if task.context[:items].zero?

      { status: "approved", total: task.context[:items] * step.handler_config[:price] }
    end
  end

  class ProcessPayment
    VERSION = "1.2.3"

    def process(_task, sequence, step)
      OrderFulfillment.note(step)
      raise "the bank does not answer" if step.attempt.zero?

      { transaction_id: "txn_#{sequence.result_of(:validate)[:total]}", attempt: step.attempt }
    end
  end

  class ShipOrder
    VERSION = "2.0.0"

    def process(task, sequence, step)
      OrderFulfillment.note(step)
      { tracking_number: "#{task.context[:order_id]}-#{sequence.result_of(:pay)[:transaction_id]}",
        weight: step.arguments[:weight] }
    end
  end
end

registry = TaskerCore::HandlerRegistry.new(
  OrderFulfillment::ValidateOrder.new, OrderFulfillment::ProcessPayment.new, OrderFulfillment::ShipOrder.new
)
ended = Queue.new
Signal.trap("TERM") { ended << true }
handler = TaskerCore::ZmqPubSubHandler.new(
  step_sub_endpoint: ARGV[0], result_pub_endpoint: ARGV[1], handler_registry: registry
)
handler.start
$stdout.puts "ready"
$stdout.flush
ended.pop
handler.stop
