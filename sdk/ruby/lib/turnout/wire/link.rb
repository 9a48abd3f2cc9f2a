# frozen_string_literal: true

require "turnout/wire/actions"
require "turnout/wire/frames"
require "turnout/wire/holdings"
require "turnout/wire/report"

module Turnout
  module Wire
    # How does a worker talk to one hub? A session without a socket: frames and time in, frames and actions out.
    #
    # +outbox+ holds messages to be sent and +actions+ what is to be done; whoever owns the socket empties both after
    # each call. Times are seconds of any clock that never goes back.
    class Link
      RESEND_HELLO = 2.0
      # The share of the lease after which a worker that had no answer begins nothing.
      FENCE = 0.8
      LEASE = 15.0
      # No hub keeps a worker busier than that.
      SHORTEST = 0.01
      # Bytes that a message may have besides its body, encryption included.
      ENVELOPE = 1_024

      attr_reader :state, :greeting, :hub, :hubs, :lease, :contact, :credits, :malformed, :outbox, :actions

      # +hello+ are the fields of hello that stay the same; +next_seq+ numbers the connections of the process;
      # +orphan+ tells of a holding whether the worker has no session any more with the hub that gave it.
      def initialize(hello, holdings, credits:, next_seq:, orphan: ->(_holding) { false })
        @hello = hello
        @holdings = holdings
        @credits = credits
        @next_seq = next_seq
        @orphan = orphan
        @state = :closed
        @hub = ""
        @hubs = []
        @lease = LEASE
        @contact = @opened = @greeted = @beaten = NEVER
        @malformed = 0
        @over_limit = false
        @outbox = []
        @actions = []
        reset
      end

      # There is a fresh connection: say hello.
      def open(now)
        reset
        @state = :greeting
        @greeting = @next_seq.call
        @opened = now
        greet(now)
      end

      # Whether the hub has sent a message over the limit. The next may cost as much, so the pauses before it only grow.
      def over_limit? = @over_limit
      def open? = @state == :open
      def refused? = @state == :refused

      # Whether steps of this hub may begin: it cannot have given them to others yet.
      def in_contact?(now) = open? && now - @contact < fence

      def credits=(credits)
        return if credits == @credits

        @credits = credits
        send_message("credit", { "seq" => next_beat, "credits" => credits }) if open?
      end

      def progress(token, done, total, message)
        return unless open?

        send_message("progress", { "token" => token, "done" => done, "total" => total, "message" => message })
      end

      # Let the hub know at once what is held here.
      def beat(now)
        return unless open?

        seq = next_beat
        @beaten = @unanswered[seq] = now
        send_message("heartbeat", { "seq" => seq, "credits" => @credits, "in_flight" => mine.map(&:listed) })
      end

      # The connection is gone, and the session with it.
      def cut(reason) = leave(reason)

      # The connection was not let in: nothing that is said here would be heard.
      def refuse(reason)
        return if refused?

        @state = :refused
        @actions << Parted.new(reason)
      end

      def bye(reason)
        send_message("bye", { "reason" => reason }) if open?
      end

      # Send what is due.
      def tick(now)
        case @state
        when :greeting
          if now - @opened >= fence
            leave("no answer to hello")
          elsif now - @greeted >= RESEND_HELLO
            greet(now)
          end
        when :open
          return leave(format("no answer for %.1f s", now - @contact)) if now - @contact >= fence

          beat(now) if now - @beaten >= @heartbeat
          @report.due(mine, now) { |kind, body| send_message(kind, body) }
        end
      end

      # When +tick+ has something to do again, if nothing else happens before.
      def next_due
        case @state
        when :greeting then [@greeted + RESEND_HELLO, @opened + fence].min
        when :open then [@beaten + @heartbeat, @contact + fence, @report.next_due(mine)].min
        else Float::INFINITY
        end
      end

      # Take a message; never raises.
      def receive(frames, now)
        message = Frames.unpack(frames, @codec)
        case message.kind
        when "welcome" then welcomed(message.body, now)
        when "error" then refused(message.body, message.session)
        else take(message.kind, message.body, now) if open? && message.session == @session
        end
      rescue UnknownKind => error
        complain(error.message) if open? && error.session == @session
      rescue OverLimit => error
        @malformed += 1
        @over_limit = true
        leave("over_limit: #{error.message}")
      rescue Malformed => error
        @malformed += 1
        leave("malformed: #{error.message}")
      end

      private

      def reset
        @session = ""
        @codec = Codec::JSON
        @seq = 0
        # When each heartbeat that is not answered yet was sent.
        @unanswered = {}
      end

      def take(kind, body, now)
        case kind
        when "steps" then steps(body, now)
        when "ack" then drop(body["tokens"], "its result has been taken")
        when "heartbeat" then answered(body)
        when "started" then started(body)
        when "cancel" then cancel(body)
        when "logged" then @holdings.logged(body["token"], body["next"])
        when "drain" then @actions << DrainAsked.new(body["reason"] || "")
        when "bye"
          @state = :closed
          @actions << Parted.new(body["reason"] || "")
        else complain("#{kind} is not for a worker")
        end
      end

      def steps(body, now)
        body["steps"].each do |step|
          next if @holdings.take(step, body["batch_id"], @hub, now)

          held = @holdings[step["metadata"]["token"]]
          # Its hub is gone, and this one has taken its place.
          held.hub = @hub if held && @orphan.call(held)
        end
        send_message("received", { "tokens" => body["steps"].map { |step| step["metadata"]["token"] } })
      end

      def answered(body)
        sent = @unanswered.delete(body["seq"])
        @contact = sent if sent && sent > @contact
        @hubs = body["hubs"] unless body.fetch("hubs", []).empty?
        body.fetch("keep", []).each do |token|
          held = @holdings[token]
          held.hub = @hub if held && @orphan.call(held)
        end
      end

      def started(body)
        body.fetch("granted", []).each { |token| @holdings[token]&.granted = true }
        @holdings.forget(body.fetch("denied", []).reject { |token| @holdings[token] && !@holdings[token].waiting? })
      end

      def cancel(body)
        reason = body["reason"].to_s.empty? ? "cancelled" : body["reason"]
        body["tokens"].each do |token|
          holding = @holdings[token]
          if holding&.waiting?
            @holdings.give_back(token, reason)
          elsif holding&.running?
            @actions << Stop.new(token, reason, false)
          end
        end
      end

      def welcomed(body, now)
        return unless @state == :greeting && body["seq"] == @greeting
        raise Malformed, "welcome.codec #{body['codec']} was not offered" unless Codec::NAMES.include?(body["codec"])

        @state = :open
        @session, @codec, @hubs = body["session"], body["codec"], body.fetch("hubs", [])
        @heartbeat, @lease, resend =
          body.values_at("heartbeat_ms", "lease_ms", "resend_ms").map { |each| [each / 1000.0, SHORTEST].max }
        @most_bytes = body["max_message_bytes"]
        @report = Report.new(resend, @most_bytes)
        @contact = @opened
        before, @hub = @hub, body["hub_id"]
        @actions << Welcomed.new(@hub, before == @hub || before.empty? ? nil : before)
        drop(body.fetch("release", []), "nobody waits for it any more")
        mine.each { |each| each.sent = each.asked = each.lines_sent = NEVER }
        beat(now)
      end

      def refused(body, session)
        return unless ["", @session].include?(session) && %i[greeting open].include?(@state)

        reason = "#{body['code']}: #{body['message']}"
        if body["retry"] == false
          refuse(reason)
        elsif %w[no_session malformed stopping].include?(body["code"])
          leave(reason)
        elsif body["code"] == "not_yours" && !session.empty?
          # What another hub gave is not this one's to judge: it may not have heard yet that the other is gone.
          @holdings.forget(body.fetch("tokens", []).select { |token| done_for_this_hub?(token) })
        end
      end

      def done_for_this_hub?(token)
        held = @holdings[token]
        held && held.hub == @hub && held.done?
      end

      def greet(now)
        @greeted = now
        said = { "seq" => @greeting, "credits" => @credits, "in_flight" => mine.map(&:listed) }
        @outbox << Frames.pack("hello", @hello.merge(said), "")
      end

      def mine = @holdings.select { |each| each.hub == @hub || @orphan.call(each) }

      def drop(tokens, reason)
        @holdings.forget(tokens).each { |token| @actions << Stop.new(token, reason, true) }
      end

      def leave(reason)
        return if %i[closed refused].include?(@state)

        @state = :closed
        @actions << Reconnect.new(reason)
      end

      def complain(message)
        send_message("error", { "code" => "unknown_message", "message" => message, "retry" => true })
      end

      def next_beat = @seq += 1
      def fence = FENCE * @lease

      # Whether it was sent: the hub closes a connection on which more comes than it takes, and not every codec says
      # everything.
      def send_message(kind, body)
        frames = Frames.pack(kind, body, @session, @codec)
        return false if frames[2].bytesize + ENVELOPE > @most_bytes

        @outbox << frames
        true
      rescue RangeError
        false # an integer that MessagePack does not know
      end
    end
  end
end
