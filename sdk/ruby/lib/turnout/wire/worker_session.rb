# frozen_string_literal: true

require "turnout/wire/actions"
require "turnout/wire/frames"
require "turnout/wire/held_steps"
require "turnout/wire/report"

module Turnout
  module Wire
    # Runs the session of a worker with one hub without a socket: frames and time in, frames and actions out.
    #
    # +outbox+ holds messages to be sent and +actions+ what is to be done; the owner of the socket empties both after
    # each call. Times are seconds of any clock that never goes back.
    class WorkerSession
      HELLO_INTERVAL = 2.0
      # The share of the lease after which a worker that had no answer begins nothing.
      FENCE = 0.8
      DEFAULT_LEASE = 15.0
      # The shortest interval in seconds that a hub can set.
      MIN_INTERVAL = 0.01
      # Bytes of a message besides its body, encryption included.
      ENVELOPE_BYTES = 1_024

      attr_reader :state, :hello_seq, :hub, :hubs, :lease, :contact, :credits, :malformed, :outbox, :actions

      # +hello+ are the fields of hello that stay the same; +next_hello_seq+ numbers the connections of the process;
      # +orphan+ returns true for a held step of a hub that the worker has no session with any more.
      def initialize(hello, held_steps, credits:, next_hello_seq:, orphan: ->(_held_step) { false })
        @hello = hello
        @held_steps = held_steps
        @credits = credits
        @next_hello_seq = next_hello_seq
        @orphan = orphan
        @state = :closed
        @hub = ""
        @hubs = []
        @lease = DEFAULT_LEASE
        @contact = @opened = @hello_sent_at = @heartbeat_sent_at = NEVER
        # The time at which all own steps are checked for what is due.
        @report_due = NEVER
        @malformed = 0
        @over_limit = false
        @outbox = []
        @actions = []
        reset
      end

      # Called when there is a new connection: sends hello.
      def open(now)
        reset
        @state = :greeting
        @hello_seq = @next_hello_seq.call
        @opened = now
        send_hello(now)
      end

      # True if the hub has sent a message over the limit. The next may cost as much, so the backoff only grows.
      def over_limit? = @over_limit
      def open? = @state == :open
      def refused? = @state == :refused

      # True if steps of this hub may begin: it cannot have given them to other workers yet.
      def in_contact?(now) = open? && now - @contact < fence

      def credits=(credits)
        return if credits == @credits

        @credits = credits
        send_message("credit", { "seq" => next_seq, "credits" => credits }) if open?
      end

      def progress(token, done, total, message)
        return unless open?

        send_message("progress", { "token" => token, "done" => done, "total" => total, "message" => message })
      end

      # Sends a heartbeat now, with the steps that are held here.
      def send_heartbeat(now)
        return unless open?

        seq = next_seq
        @heartbeat_sent_at = @sent_at[seq] = now
        send_message("heartbeat", { "seq" => seq, "credits" => @credits, "in_flight" => own_steps.map(&:listed) })
      end

      # Ends the session of a lost connection.
      def connection_lost(reason) = reconnect(reason)

      # Called when the hub refuses the connection: messages sent on it would not be read.
      def refuse(reason)
        return if refused?

        @state = :refused
        @actions << HubClosed.new(reason)
      end

      def bye(reason)
        send_message("bye", { "reason" => reason }) if open?
      end

      # Sends what is new about those of these held steps that are this hub's.
      def report(changed, now)
        @report_due = [@report_due, send_due(changed.select { |each| own?(each) }, now)].min if open?
      end

      # Makes the next +tick+ check all own steps: the hubs that the worker has a session with have changed, and so may
      # have the steps without one.
      def check_all = @report_due = NEVER

      # Sends what is due by time.
      def tick(now)
        case @state
        when :greeting
          if now - @opened >= fence
            reconnect("no answer to hello")
          elsif now - @hello_sent_at >= HELLO_INTERVAL
            send_hello(now)
          end
        when :open
          return reconnect(format("no answer for %.1f s", now - @contact)) if now - @contact >= fence

          send_heartbeat(now) if now - @heartbeat_sent_at >= @heartbeat
          @report_due = send_due(own_steps, now) if now >= @report_due
        end
      end

      # The time of the next +tick+ that has something to do, if nothing else happens before.
      def next_due
        case @state
        when :greeting then [@hello_sent_at + HELLO_INTERVAL, @opened + fence].min
        when :open then [@heartbeat_sent_at + @heartbeat, @contact + fence, @report_due].min
        else Float::INFINITY
        end
      end

      # Processes a message; never raises.
      def receive(frames, now)
        message = Frames.unpack(frames, @codec)
        case message.kind
        when "welcome" then on_welcome(message.body, now)
        when "error" then on_error(message.body, message.session)
        else on_message(message.kind, message.body, now) if open? && message.session == @session_id
        end
      rescue UnknownKind => error
        send_error(error.message) if open? && error.session == @session_id
      rescue OverLimit => error
        @malformed += 1
        @over_limit = true
        reconnect("over_limit: #{error.message}")
      rescue Malformed => error
        @malformed += 1
        reconnect("malformed: #{error.message}")
      end

      private

      def reset
        @session_id = ""
        @codec = Codec::JSON
        @seq = 0
        # When each heartbeat that is not answered yet was sent.
        @sent_at = {}
      end

      def on_message(kind, body, now)
        case kind
        when "steps" then on_steps(body, now)
        when "ack" then forget(body["tokens"], "its result has been taken")
        when "heartbeat" then on_heartbeat(body)
        when "started" then on_started(body)
        when "cancel" then on_cancel(body)
        when "logged" then @held_steps.acknowledge_lines(body["token"], body["next"])
        when "drain" then @actions << DrainRequested.new(body["reason"] || "")
        when "bye"
          @state = :closed
          @actions << HubClosed.new(body["reason"] || "")
        else send_error("#{kind} is not for a worker")
        end
      end

      def on_steps(body, now)
        body["steps"].each do |step|
          next if @held_steps.add(step, body["batch_id"], @hub, now)

          held_step = @held_steps[step["metadata"]["token"]]
          # Its hub is gone, and this hub has taken over.
          held_step.hub = @hub if held_step && @orphan.call(held_step)
        end
        send_message("received", { "tokens" => body["steps"].map { |step| step["metadata"]["token"] } })
      end

      def on_heartbeat(body)
        sent = @sent_at.delete(body["seq"])
        @contact = sent if sent && sent > @contact
        @hubs = body["hubs"] unless body.fetch("hubs", []).empty?
        body.fetch("keep", []).each do |token|
          held_step = @held_steps[token]
          held_step.hub = @hub if held_step && @orphan.call(held_step)
        end
      end

      def on_started(body)
        body.fetch("granted", []).each { |token| @held_steps[token]&.granted = true }
        denied = body.fetch("denied", [])
        @held_steps.forget(denied.reject { |token| @held_steps[token] && !@held_steps[token].waiting? })
      end

      def on_cancel(body)
        reason = body["reason"].to_s.empty? ? "cancelled" : body["reason"]
        body["tokens"].each do |token|
          held_step = @held_steps[token]
          if held_step&.waiting?
            @held_steps.return_step(token, reason)
          elsif held_step&.running?
            @actions << Stop.new(token, reason, false)
          end
        end
      end

      def on_welcome(body, now)
        return unless @state == :greeting && body["seq"] == @hello_seq
        raise Malformed, "welcome.codec #{body['codec']} was not offered" unless Codec::NAMES.include?(body["codec"])

        @state = :open
        @session_id, @codec, @hubs = body["session"], body["codec"], body.fetch("hubs", [])
        @heartbeat, @lease, resend =
          body.values_at("heartbeat_ms", "lease_ms", "resend_ms").map { |each| [each / 1000.0, MIN_INTERVAL].max }
        @max_bytes = body["max_message_bytes"]
        @report = Report.new(resend, @max_bytes)
        @contact = @opened
        before, @hub = @hub, body["hub_id"]
        @actions << SessionOpened.new(@hub, before == @hub || before.empty? ? nil : before)
        forget(body.fetch("release", []), "its result is not needed any more")
        own_steps.each { |each| each.result_sent_at = each.start_sent_at = each.lines_sent_at = NEVER }
        check_all
        send_heartbeat(now)
      end

      def on_error(body, session)
        return unless ["", @session_id].include?(session) && %i[greeting open].include?(@state)

        reason = "#{body['code']}: #{body['message']}"
        if body["retry"] == false
          refuse(reason)
        elsif %w[no_session malformed stopping].include?(body["code"])
          reconnect(reason)
        elsif body["code"] == "not_yours" && !session.empty?
          # This hub does not decide about steps of another hub: it may not know yet that the other is gone.
          @held_steps.forget(body.fetch("tokens", []).select { |token| done_for_this_hub?(token) })
        end
      end

      def done_for_this_hub?(token)
        held_step = @held_steps[token]
        held_step && held_step.hub == @hub && held_step.done?
      end

      def send_hello(now)
        @hello_sent_at = now
        changes = { "seq" => @hello_seq, "credits" => @credits, "in_flight" => own_steps.map(&:listed) }
        @outbox << Frames.pack("hello", @hello.merge(changes), "")
      end

      # True for a step that is reported to this hub: it gave the step, or the hub that did is gone.
      def own?(held_step) = held_step.hub == @hub || @orphan.call(held_step)
      def own_steps = @held_steps.select { |each| own?(each) }

      # Sends what is due about these steps. Returns the time at which there is something to send again.
      def send_due(own_steps, now)
        @report.due(own_steps, now) { |kind, body| send_message(kind, body) }
        @report.next_due(own_steps)
      end

      def forget(tokens, reason)
        @held_steps.forget(tokens).each { |token| @actions << Stop.new(token, reason, true) }
      end

      def reconnect(reason)
        return if %i[closed refused].include?(@state)

        @state = :closed
        @actions << Reconnect.new(reason)
      end

      def send_error(message)
        send_message("error", { "code" => "unknown_message", "message" => message, "retry" => true })
      end

      def next_seq = @seq += 1
      def fence = FENCE * @lease

      # Returns whether the message was sent. The hub closes a connection on a message over the size limit, and
      # MessagePack does not have every integer.
      def send_message(kind, body)
        frames = Frames.pack(kind, body, @session_id, @codec)
        return false if frames[2].bytesize + ENVELOPE_BYTES > @max_bytes

        @outbox << frames
        true
      rescue RangeError
        false # an integer that MessagePack does not have
      end
    end
  end
end
