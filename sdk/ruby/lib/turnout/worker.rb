# frozen_string_literal: true

require "turnout"
require "turnout/job"
require "turnout/wire/link"
require "turnout/worker/capture"
require "turnout/worker/connections"
require "turnout/worker/options"
require "turnout/worker/pool"
require "turnout/worker/wakeup"

module Turnout
  # A process that runs steps for its hubs.
  #
  # One thread, the one that calls +run+, owns the sockets and everything that is in hand; handlers run in the threads
  # of a Pool and hand in what they have through a queue and a pipe.
  class Worker
    # Steps that are held for each place, so that the next one is there when a place becomes free.
    HELD_PER_PLACE = 2
    # Lines, progress and results that wait to be taken in; handlers that say more wait.
    MOST_SAID = 10_000
    BYE = 1.0
    # With so many results that no hub has acknowledged, nothing more is asked for until half of them are.
    MOST_UNACKNOWLEDGED = 1_000
    SIGNALS = %w[TERM INT].freeze

    attr_reader :options

    # Options: see Options#initialize.
    def initialize(registry: Turnout.registry, **options)
      @options = Options.new(**options)
      @registry = registry
      raise ConfigurationError, "no handlers: register them before the worker is made" if registry.names.empty?

      @logger = @options.logger
      @holdings = Wire::Holdings.new
      @inbox = SizedQueue.new(MOST_SAID)
      @wakeup = Wakeup.new
      @stops = 0
      @seq = 0
    end

    # Works until it is told to stop; returns +:drained+ or +:stopped+. Raises Refused if no hub wants this worker.
    def run(signals: true)
      before = signals ? trap_signals : {}
      @context = ZMQ::Context.new
      @pool = Pool.new(@options.concurrency, @options.kill_grace) { |token, result| post(:done, token, result) }
      @connections = Connections.new(@options, @context) { link }
      @connections.divide(places)
      @options.capture ? Capture.install { work } : work
    ensure
      before&.each { |signal, handler| trap(signal, handler || "DEFAULT") }
      close
    end

    # Drains: takes nothing more, finishes what runs, says bye. The second call stops at once. Safe in any thread and in
    # traps.
    def stop
      @stops += 1
      @wakeup.signal
    end

    private

    def work
      @logger.info("worker #{@options.name}: #{@registry.names.size} handlers, #{@options.concurrency} at once, " \
                   "hubs #{@options.connect.join(', ')}")
      until @ended || @stops > 1 || (@stop_by && clock >= @stop_by)
        turn(clock)
        wait
      end
      abandon unless @ended
      @logger.info(@ended ? "stopped" : "stopped before everything was finished")
      @ended ? :drained : :stopped
    end

    # What still runs ends with this process. Its hubs need not wait to find out, and nobody takes it for a failure of
    # the handler.
    def abandon
      take_inbox
      @holdings.select(&:running?).each do |each|
        @holdings.finish(each.token, Wire::Results.unable(each.step, "lost", "its worker was stopped"))
      end
      @connections.each { |each| each.flush(clock) }
    end

    def turn(now)
      @wakeup.clear
      take_inbox
      @connections.to_a.each do |connection|
        connection.turn(now)
        act(connection, now)
      end
      drain(now) if @stops.positive?
      @connections.seen(now)
      @connections.divide(places)
      run_what_may(now)
      @pool.tick(now) { |job, error| give_up(job, error) }
      leave(now) if @draining
      @connections.to_a.each do |connection|
        connection.flush(now)
        act(connection, now)
      end
    end

    def wait
      return if @ended || !@inbox.empty? || @connections.any?(&:readable?)

      due = [@pool.next_due, @deadline || Float::INFINITY, @stop_by || Float::INFINITY, *@connections.map(&:next_due)].min - clock
      IO.select([@wakeup.io, *@connections.ios], nil, nil, due.clamp(0, 60)) if due.positive?
    end

    # -- what handlers say --------------------------------------------------------------------------------------------
    def post(*said)
      @inbox << said
      @wakeup.signal
    end

    def take_inbox
      @inbox.size.times do
        kind, token, *said = @inbox.pop
        case kind
        when :done then over(token, *said)
        when :said then @holdings.say(token, *said)
        when :progressed
          hub = @holdings[token]&.hub
          @connections.link_of(hub)&.progress(token, *said)
        end
      end
    end

    # Without a result it had its turn too late, and waits for another.
    def over(token, result)
      @pool.release(token)
      return @holdings.finish(token, result) if result

      holding = @holdings[token]
      holding.state = "waiting" if holding&.running?
    end

    # -- what hubs say ------------------------------------------------------------------------------------------------
    def act(connection, now)
      while (action = connection.link.actions.shift)
        case action
        when Wire::Stop then @pool.stop(action.token, Cancelled.new(action.reason), now)
        when Wire::DrainAsked
          @logger.info("hub #{connection.address} asks this worker to leave: #{action.reason}")
          drain(now)
        when Wire::Welcomed
          @logger.info("hub #{connection.address} is there")
          @connections.welcomed(connection, action.before)
        when Wire::Reconnect then part(connection, action.reason, now)
        when Wire::Parted
          part(connection, connection.link.refused? ? action.reason : "it said bye: #{action.reason}", now)
        end
      end
    end

    def part(connection, reason, now)
      return refuse(connection, reason) if connection.link.refused?
      return if @left # it leaves anyway

      pause = @connections.failed(connection, now)
      @logger.info(format("hub %s: %s; the next try is in %.1f s", connection.address, reason, pause))
    end

    def refuse(connection, reason)
      said = "hub #{connection.address} refuses this worker: #{reason}"
      connection.close
      raise Refused, said if @connections.all_refused?

      @logger.error(said)
    end

    # -- what runs ----------------------------------------------------------------------------------------------------
    # How many steps to ask for in all.
    def places
      unacknowledged = @holdings.count(&:done?)
      @full = unacknowledged >= (@full ? MOST_UNACKNOWLEDGED / 2 : MOST_UNACKNOWLEDGED)
      @draining || @full ? 0 : HELD_PER_PLACE * (@options.concurrency - @pool.stuck)
    end

    def run_what_may(now)
      @deadline = nil
      @free = @pool.free
      @holdings.select(&:waiting?).each { |holding| consider(holding, now) }
    end

    # Begins it, gives it back, or leaves it where it is.
    def consider(holding, now)
      link = @connections.link_of(holding.hub)
      if @draining
        @holdings.give_back(holding.token, "the worker is stopping")
      elsif holding.deadline && now >= holding.deadline
        @holdings.give_back(holding.token, "its deadline had passed before it could begin")
      elsif @pool.stuck == @options.concurrency
        @holdings.give_back(holding.token, "all places are held by handlers that do not return")
      elsif link.nil? && @connections.any_open? && @connections.gone?(holding.hub, now)
        @holdings.give_back(holding.token, "its hub is gone")
      elsif @free.positive? && link&.in_contact?(clock)
        @free -= 1
        # Whoever has leave is taken to have begun, also if this worker dies: it is asked for when there is a place.
        holding.granted ? start(holding, link, now) : holding.asks = true
      else
        @deadline = [@deadline, holding.deadline].compact.min
      end
    end

    def start(holding, link, now)
      holding.state = "running"
      token = holding.token
      @pool.start(Job.new(
        holding.step, @registry, fit: -> { link.in_contact?(clock) },
        said: ->(stream, text) { post(:said, token, stream, text) },
        progressed: ->(done, total, message) { post(:progressed, token, done, total, message) }
      ), now)
    end

    # It did not end when it was told to, and holds its place until it does; the hub need not wait for that.
    def give_up(job, error)
      message = "#{error.message}; the handler could not be stopped and still runs"
      @logger.error("#{job.token}: #{message}")
      @holdings.finish(job.token, Wire::Results.unable(job.document, error.outcome, message))
    end

    # -- the end ------------------------------------------------------------------------------------------------------
    def drain(now)
      return if @draining

      @draining = true
      @stop_by = now + @options.grace
      @logger.info(format("stopping: %<running>d steps run, and have %<grace>g s to finish",
                          running: @pool.running, grace: @options.grace))
    end

    # Says bye once nothing is in hand, and waits for the answer a moment.
    def leave(now)
      return unless @holdings.empty? && @pool.idle?

      @connections.each { |each| each.link.bye("drained") } if @left.nil?
      @left ||= now
      @deadline = @left + BYE
      @ended = !@connections.any_open? || now >= @deadline
    end

    def close
      @ended && @pool.stuck.zero? ? @pool.close : @pool&.kill
      @connections&.close
      @context&.terminate
      @wakeup.close
    end

    def link
      orphan = ->(holding) { @connections.link_of(holding.hub).nil? }
      next_seq = -> { @seq += 1 }
      Wire::Link.new(@options.hello(@registry.names), @holdings, credits: places, next_seq: next_seq, orphan: orphan)
    end

    def trap_signals = SIGNALS.to_h { |signal| [signal, trap(signal) { stop }] }
    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
