# frozen_string_literal: true

require "turnout"
require "turnout/job"
require "turnout/wire/worker_session"
require "turnout/worker/capture"
require "turnout/worker/connections"
require "turnout/worker/options"
require "turnout/worker/pool"
require "turnout/worker/prefetch"
require "turnout/worker/wakeup"

module Turnout
  # A process that runs steps for its hubs.
  #
  # The thread that calls +run+ owns the sockets and all held steps. Handlers run in the threads of a Pool and reach it
  # through a queue and a pipe.
  class Worker
    # Lines, progress and results in the inbox; handlers that add more block.
    MAX_INBOX = 10_000
    BYE_TIMEOUT = 1.0
    # With so many unacknowledged results the credits are 0 until half of them are acknowledged.
    MAX_UNACKNOWLEDGED = 1_000
    SIGNALS = %w[TERM INT].freeze
    LATE = "its deadline had passed before it could begin"

    attr_reader :options

    # Options: see Options#initialize.
    def initialize(registry: Turnout.registry, **options)
      @options = Options.new(**options)
      @registry = registry
      raise ConfigurationError, "no handlers: register them before the worker is made" if registry.names.empty?

      @logger = @options.logger
      @held_steps = Wire::HeldSteps.new
      @inbox = SizedQueue.new(MAX_INBOX)
      @wakeup = Wakeup.new
      @prefetch = Prefetch.new
      @stops = 0
      @seq = 0
    end

    # Runs until it is stopped; returns +:drained+ or +:stopped+. Raises Refused if every hub refuses this worker.
    def run(signals: true)
      before = signals ? trap_signals : {}
      @context = ZMQ::Context.new
      @pool = Pool.new(@options.concurrency, @options.kill_grace) { |token, result| post(:done, token, result) }
      @connections = Connections.new(@options, @context) { new_session }
      @connections.divide(credits)
      @options.capture ? Capture.install { work } : work
    ensure
      before&.each { |signal, handler| trap(signal, handler || "DEFAULT") }
      close
    end

    # Drains: takes no more steps, finishes what runs, sends bye. The second call stops at once. Safe in any thread and
    # in traps.
    def stop
      @stops += 1
      @wakeup.signal
    end

    private

    def work
      @logger.info("worker #{@options.name}: #{@registry.names.size} handlers, #{@options.concurrency} at once, " \
                   "hubs #{@options.connect.join(', ')}")
      until @ended || @stops > 1 || (@stop_by && clock >= @stop_by)
        round(clock)
        wait
      end
      abandon unless @ended
      @logger.info(@ended ? "stopped" : "stopped before everything was finished")
      @ended ? :drained : :stopped
    end

    # Reports steps that end with this process as lost, which does not count as a failure of the handler.
    def abandon
      take_inbox
      @held_steps.select(&:running?).each do |each|
        @held_steps.finish(each.token, Wire::Results.unable(each.step, "lost", "its worker was stopped"))
      end
      changed = @held_steps.take_changed
      @connections.each { |each| each.flush(changed, clock) }
    end

    def round(now)
      @wakeup.clear
      take_inbox
      @connections.to_a.each do |connection|
        connection.receive(now)
        act(connection, now)
      end
      drain(now) if @stops.positive?
      @connections.refresh(now)
      @pool.tick(now) { |job, error| report_stuck(job, error) }
      @draining ? return_all : begin_steps(now)
      @prefetch.busy(@pool.running.positive?, now)
      tick(now) if @prefetch.due?(now)
      @connections.divide(credits)
      finish_drain(now) if @draining
      flush(now)
    end

    def flush(now)
      changed = @held_steps.take_changed
      @connections.to_a.each do |connection|
        connection.flush(changed, now)
        act(connection, now)
      end
    end

    def wait
      return if @ended || !@inbox.empty? || @connections.any?(&:readable?)

      due = [@pool.next_due, @prefetch.next_due(@held_steps.empty?), @stop_by || Float::INFINITY,
             @bye_due || Float::INFINITY, *@connections.map(&:next_due)].min - clock
      IO.select([@wakeup.io, *@connections.ios], nil, nil, due.clamp(0, 60)) if due.positive?
    end

    # -- messages of handlers -----------------------------------------------------------------------------------------
    def post(*message)
      @inbox << message
      @wakeup.signal
    end

    def take_inbox
      @inbox.size.times do
        kind, token, *arguments = @inbox.pop
        case kind
        when :done then finished(token, *arguments)
        when :line then @held_steps.add_line(token, *arguments)
        when :progress
          hub = @held_steps[token]&.hub
          @connections.session_of(hub)&.progress(token, *arguments)
        end
      end
    end

    # A step without a result may not begin any more now, and waits again.
    def finished(token, result)
      @pool.release(token)
      return @held_steps.wait_again(token) unless result

      @prefetch.ended
      @held_steps.finish(token, result)
    end

    # -- actions of hubs ----------------------------------------------------------------------------------------------
    def act(connection, now)
      while (action = connection.session.actions.shift)
        case action
        when Wire::Stop then @pool.stop(action.token, Cancelled.new(action.reason), now)
        when Wire::DrainRequested
          @logger.info("hub #{connection.address} asks this worker to leave: #{action.reason}")
          drain(now)
        when Wire::SessionOpened
          @logger.info("hub #{connection.address} is there")
          @connections.welcomed(connection, action.before)
        when Wire::Reconnect then connection_lost(connection, action.reason, now)
        when Wire::HubClosed
          reason = connection.session.refused? ? action.reason : "it sent bye: #{action.reason}"
          connection_lost(connection, reason, now)
        end
      end
    end

    def connection_lost(connection, reason, now)
      return refuse(connection, reason) if connection.session.refused?
      return if @bye_due

      backoff = @connections.failed(connection, now)
      @logger.info(format("hub %s: %s; the next try is in %.1f s", connection.address, reason, backoff))
    end

    def refuse(connection, reason)
      message = "hub #{connection.address} refuses this worker: #{reason}"
      connection.close
      raise Refused, message if @connections.all_refused?

      @logger.error(message)
    end

    # -- running steps ------------------------------------------------------------------------------------------------
    # The number of steps to ask for in all.
    def credits
      @full = @held_steps.unacknowledged >= (@full ? MAX_UNACKNOWLEDGED / 2 : MAX_UNACKNOWLEDGED)
      @draining || @full ? 0 : @prefetch.credits(@options.concurrency - @pool.stuck)
    end

    # Begins steps while slots are free, in the order of arrival.
    def begin_steps(now)
      free = @pool.free
      return unless free.positive?

      @held_steps.waiting.each do |held_step|
        next @held_steps.return_step(held_step.token, LATE) if held_step.late?(now)

        session = @connections.session_of(held_step.hub)
        next unless session&.in_contact?(clock)

        # A granted step counts as begun, even if this worker dies: leave is requested when a slot is free.
        held_step.granted ? start(held_step, session, now) : @held_steps.request_start(held_step.token)
        free -= 1
        break if free.zero?
      end
    end

    def return_all
      @held_steps.waiting.each { |each| @held_steps.return_step(each.token, "the worker is stopping") }
    end

    # Adapts the credits, and returns steps that cannot begin here soon, so that other workers get them.
    def tick(now)
      @prefetch.tick(@options.concurrency - @pool.stuck, now)
      @held_steps.waiting.each do |each|
        reason = return_reason(each, now) and @held_steps.return_step(each.token, reason)
      end
      Prefetch.waiting_too_long(@held_steps.waiting, @options.concurrency, now).each do |each|
        @held_steps.return_step(each.token, "it is not its turn for long")
      end
    end

    # Returns why a step that waits is returned, nil if it is not.
    def return_reason(held_step, now)
      if held_step.late?(now)
        LATE
      elsif @pool.stuck == @options.concurrency
        "all slots are held by handlers that do not return"
      elsif @connections.any_open? && @connections.session_of(held_step.hub).nil? && @connections.gone?(held_step.hub, now)
        "its hub is gone"
      end
    end

    def start(held_step, session, now)
      token = held_step.token
      @held_steps.begin(token)
      @pool.start(Job.new(
        held_step.step, @registry, may_begin: -> { session.in_contact?(clock) },
        on_line: ->(stream, text) { post(:line, token, stream, text) },
        on_progress: ->(done, total, message) { post(:progress, token, done, total, message) }
      ), now)
    end

    # Reports a handler that did not end when it was interrupted. It holds its slot until it ends.
    def report_stuck(job, error)
      message = "#{error.message}; the handler could not be stopped and still runs"
      @logger.error("#{job.token}: #{message}")
      @held_steps.finish(job.token, Wire::Results.unable(job.document, error.outcome, message))
    end

    # -- shutdown -----------------------------------------------------------------------------------------------------
    def drain(now)
      return if @draining

      @draining = true
      @stop_by = now + @options.grace
      @logger.info(format("stopping: %<running>d steps run, and have %<grace>g s to finish",
                          running: @pool.running, grace: @options.grace))
    end

    # Sends bye once no step is held, and waits for the answer until BYE_TIMEOUT.
    def finish_drain(now)
      return unless @held_steps.empty? && @pool.idle?

      @connections.each { |each| each.session.bye("drained") } if @bye_due.nil?
      @bye_due ||= now + BYE_TIMEOUT
      @ended = !@connections.any_open? || now >= @bye_due
    end

    def close
      @ended && @pool.stuck.zero? ? @pool.close : @pool&.kill
      @connections&.close
      @context&.terminate
      @wakeup.close
    end

    def new_session
      orphan = ->(held_step) { @connections.session_of(held_step.hub).nil? }
      next_hello_seq = -> { @seq += 1 }
      hello = @options.hello(@registry.names)
      Wire::WorkerSession.new(hello, @held_steps, credits: credits, next_hello_seq: next_hello_seq, orphan: orphan)
    end

    def trap_signals = SIGNALS.to_h { |signal| [signal, trap(signal) { stop }] }
    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
