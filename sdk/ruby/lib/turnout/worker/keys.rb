# frozen_string_literal: true

require "turnout/errors"
require "turnout/worker/native"

module Turnout
  class Worker
    # The keys of an encrypted connection, as Z85 text: the hub's public key, and this worker's own pair.
    Curve = Struct.new(:server_key, :public_key, :secret_key) do
      def inspect = "#<Curve server_key=#{server_key.inspect} public_key=#{public_key.inspect} secret_key=***>"
      alias_method :to_s, :inspect
    end

    # Reads the keys of a worker from options, the environment, or a file of +turnout keys generate+.
    module Keys
      VARIABLES = %w[TURNOUT_CURVE_SERVER_KEY TURNOUT_CURVE_PUBLIC_KEY TURNOUT_CURVE_SECRET_KEY].freeze
      SERVER, PUBLIC, SECRET = VARIABLES
      FILE = "TURNOUT_CURVE_KEY_FILE"
      Z85_KEY = /\A[0-9A-Za-z.\-:+=^!\/*?&<>()\[\]{}@%$#]{40}\z/
      LINE = /\A\s*(public|secret)-key\s*=\s*["']?([^\s"']+)["']?\s*\z/
      # Group and others may do nothing with a file that holds a secret.
      OTHERS = 0o077

      # Secret keys that were taken out of the environment of this process, by their public halves.
      @taken = {}

      class << self
        # Returns the keys, or nil if there are none. +given+ is a Hash with +server_key+ and either the pair or
        # +key_file+; keys that it lacks come from the environment.
        def of(given, env, logger)
          environment = variables(env)
          given = (given || {}).transform_keys(&:to_s).compact
          # Only the hub's key may come from elsewhere than the pair.
          environment = environment.slice("server_key") unless (given.keys - ["server_key"]).empty?
          given = environment.merge(given)
          return if given.empty?

          file = given.delete("key_file")
          curve(file ? given.merge(pair(file, given, logger)) : given)
        end

        private

        # Returns the keys of the environment, and removes the secret key from it: child processes inherit the
        # environment, and may print it.
        def variables(env)
          public_key, secret = env[PUBLIC], env[SECRET]
          if env.equal?(ENV)
            ENV.delete(SECRET)
            secret = @taken[public_key] = secret || @taken[public_key] if public_key
          end
          found = { "server_key" => env[SERVER], "public_key" => public_key, "secret_key" => secret,
                    "key_file" => env[FILE] }
          found.reject { |_name, value| value.nil? || value.strip.empty? }
        end

        def curve(given)
          missing = Curve.members.map(&:name) - given.reject { |_name, value| value.empty? }.keys
          raise ConfigurationError, "CURVE needs all three keys; missing: #{missing.join(', ')}" unless missing.empty?

          bad = given.reject { |_name, value| Z85_KEY.match?(value) }.keys
          raise ConfigurationError, "#{bad.join(', ')} must be 40 characters of Z85 text" unless bad.empty?

          Curve.new(*given.values_at(*Curve.members.map(&:name)))
        end

        # Returns the pair of a file. Its halves must belong together, and other users ought not to read it.
        def pair(file, given, logger)
          both = given.keys & %w[public_key secret_key]
          unless both.empty?
            raise ConfigurationError, "a key file and #{both.join(', ')} are both there: a worker has one pair of keys"
          end

          found = read(file)
          unless Native.curve_public(found["secret_key"]) == found["public_key"]
            raise ConfigurationError, "the halves in the key file #{file.inspect} do not belong together: make a new " \
                                      "pair with `turnout keys generate`"
          end
          logger.warn("others on this machine can read #{file}, which holds a secret key: chmod 600 it") if
            File.stat(file).mode.anybits?(OTHERS)
          found
        end

        def read(file)
          text = File.read(file, encoding: Encoding::UTF_8)
          raise ConfigurationError, "the key file #{file.inspect} cannot be read: it is no text" unless
            text.valid_encoding?

          found = text.lines.filter_map { |line| LINE.match(line)&.captures }.to_h
          %w[public secret].to_h { |half| ["#{half}_key", checked(file, half, found[half])] }
        rescue SystemCallError => error
          raise ConfigurationError, "the key file #{file.inspect} cannot be read: #{error.message}"
        end

        def checked(file, half, key)
          if key.nil?
            raise ConfigurationError, "the key file #{file.inspect} has no #{half} key: name the file with both " \
                                      "halves, as `turnout keys generate` makes it"
          end
          return key if Z85_KEY.match?(key)

          raise ConfigurationError, "the #{half} key in #{file.inspect} is none: a key has 40 characters of Z85"
        end
      end
    end
  end
end
