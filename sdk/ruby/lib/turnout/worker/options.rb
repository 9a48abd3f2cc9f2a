# frozen_string_literal: true

require "logger"
require "securerandom"
require "socket"
require "turnout/errors"
require "turnout/version"
require "turnout/wire/frames"
require "turnout/worker/identity"
require "turnout/worker/keys"

module Turnout
  class Worker
    # The options of a worker. Options that are not given come from the environment.
    class Options
      ADDRESS = %r{\A(tcp|ipc)://.}
      MAX_MESSAGE_BYTES = 16 * 1024 * 1024

      attr_reader :connect, :name, :labels, :concurrency, :curve, :capture, :discover, :grace, :kill_grace,
                  :max_message_bytes, :logger, :worker_id

      # +connect+:: addresses of hubs: text (comma-separated) or a list
      # +labels+:: a Hash, or text ("gpu=true,zone=a")
      # +concurrency+:: how many handlers run at once; twice as many steps are held, and more while they are quick
      # +curve+:: a Hash with +server_key+ and either +key_file+ or +public_key+ and +secret_key+
      # +capture+:: whether what handlers write to $stdout and $stderr goes to the run's log
      # +discover+:: whether to connect to the other hubs that a hub names
      # +grace+:: seconds that running steps get to finish when the worker stops
      # +kill_grace+:: seconds that an interrupted handler has to end before it is reported as stuck
      # +max_message_bytes+:: the largest message that is accepted from a hub
      def initialize(connect: nil, name: nil, labels: nil, concurrency: nil, curve: nil, capture: true,
                     discover: true, grace: 30.0, kill_grace: 5.0, max_message_bytes: MAX_MESSAGE_BYTES, logger: nil,
                     env: ENV)
        @logger = logger || Logger.new($stderr, progname: "turnout-worker")
        @curve = Keys.of(curve, env, @logger)
        env = env.to_h.reject { |_name, value| value.strip.empty? }
        @connect = list(connect || env["TURNOUT_CONNECT"])
        @name = name || env["TURNOUT_WORKER_NAME"] || "#{Socket.gethostname}-#{Process.pid}"
        @labels = pairs(labels || env["TURNOUT_WORKER_LABELS"] || {})
        @concurrency = count(concurrency || env["TURNOUT_WORKER_CONCURRENCY"] || 4)
        @capture = capture
        @discover = discover
        @grace = seconds("grace", grace)
        @kill_grace = seconds("kill_grace", kill_grace)
        @max_message_bytes = max_message_bytes
        @worker_id = SecureRandom.hex(16)
      end

      # The fields of hello that stay the same.
      def hello(handlers)
        {
          "versions" => [Wire::PROTOCOL], "worker_id" => @worker_id, "name" => @name, "language" => "ruby",
          "sdk_version" => VERSION, **Identity.fields, "labels" => @labels, "handlers" => handlers,
          "codecs" => Wire::Codec::NAMES, "concurrency" => @concurrency
        }
      end

      private

      def list(addresses)
        found = (addresses.is_a?(String) ? addresses.split(",") : Array(addresses)).map(&:strip).reject(&:empty?).uniq
        bad = found.grep_v(ADDRESS)
        raise ConfigurationError, "connect has #{bad.first.inspect}: write tcp://host:port or ipc:///path" if bad.any?
        return found unless found.empty?

        raise ConfigurationError, "no hub to connect to: give connect: or set TURNOUT_CONNECT (tcp://127.0.0.1:5890)"
      end

      def pairs(labels)
        return labels.to_h { |name, value| [name.to_s, value.to_s] } if labels.is_a?(Hash)

        labels.split(",").map(&:strip).reject(&:empty?).to_h do |pair|
          name, value = pair.split("=", 2).map(&:strip)
          raise ConfigurationError, "the label #{pair.inspect} is none: write NAME=VALUE, such as gpu=true" if
            value.to_s.empty? || name.empty?

          [name, value]
        end
      end

      def seconds(name, value)
        number = Float(value, exception: false)
        return number if number&.finite? && !number.negative?

        raise ConfigurationError, "#{name} is #{value.inspect}; it must be seconds, not below 0"
      end

      def count(value)
        number = Integer(value.to_s, 10, exception: false)
        return number if number&.between?(1, 10_000)

        raise ConfigurationError, "concurrency is #{value.inspect}; it must be a number from 1 to 10000"
      end
    end
  end
end
