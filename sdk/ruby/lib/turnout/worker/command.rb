# frozen_string_literal: true

require "optparse"
require "turnout/worker"

module Turnout
  class Worker
    # The command +turnout-worker+.
    class Command
      BANNER = "Usage: turnout-worker -r FILE [options]"
      EXIT_CODES = { drained: 0, stopped: 1 }.freeze

      # Runs a worker and returns the exit code.
      def self.run(arguments) = new(arguments).run

      def initialize(arguments)
        @files = []
        @labels = {}
        @options = {}
        @rest = parser.parse(arguments)
      end

      def run
        raise OptionParser::InvalidArgument, @rest.join(" ") unless @rest.empty?

        @files.each { |file| require File.exist?(file) || File.exist?("#{file}.rb") ? File.expand_path(file) : file }
        @options[:labels] = @labels unless @labels.empty?
        EXIT_CODES.fetch(Turnout.run(**@options))
      end

      private

      def parser
        OptionParser.new(BANNER) do |parser|
          parser.version = VERSION
          parser.on("-r", "--require FILE", "load a file that registers handlers; may repeat") { |file| @files << file }
          parser.on("-c", "--connect ADDRESSES", "hubs, comma-separated; may repeat (TURNOUT_CONNECT)") do |addresses|
            @options[:connect] = [*@options[:connect], *addresses.split(",")]
          end
          parser.on("-l", "--label NAME=VALUE", "may repeat (TURNOUT_WORKER_LABELS)") { |pair| label(pair) }
          parser.on("-n", "--concurrency NUMBER", "handlers at once, else 4 (TURNOUT_WORKER_CONCURRENCY)") do |number|
            @options[:concurrency] = number
          end
          parser.on("--name NAME", "for people (TURNOUT_WORKER_NAME)") { |name| @options[:name] = name }
          parser.on("--server-key Z85", "the hub's public key (TURNOUT_CURVE_SERVER_KEY)") { |key| curve(server_key: key) }
          parser.on("--key-file FILE", "its own pair of keys (TURNOUT_CURVE_KEY_FILE)") { |file| curve(key_file: file) }
          parser.on("--grace SECONDS", "for running steps when it stops, else 30") { |time| @options[:grace] = time }
          parser.on("--no-discover", "connect to no hub that is not named here") { @options[:discover] = false }
          parser.on("--autoload [MODULE]", "find handlers as classes by their names, in MODULE if given") do |namespace|
            Turnout.autoload_handlers = namespace || true
          end
          parser.on("--[no-]capture", "handlers' output goes to the run's log (it does)") do |on|
            @options[:capture] = on
          end
        end
      end

      def curve(**given) = @options[:curve] = { **@options.fetch(:curve, {}), **given }

      def label(pair)
        name, value = pair.split("=", 2)
        raise OptionParser::InvalidArgument, "#{pair} (NAME=VALUE)" if value.to_s.empty? || name.empty?

        @labels[name] = value
      end
    end
  end
end
