# frozen_string_literal: true

module Turnout
  module Wire
    # The shapes of valid values. +fits?+ is quick; +problem+ finds the path of the fault, and is called only for
    # values that do not fit.
    module Shapes
      # Raises Malformed with the path of what is wrong.
      module Checked
        def check(value, path)
          raise Malformed, problem(value, path) unless fits?(value)
        end
      end

      # A value that a predicate accepts.
      class Simple
        def initialize(name, &predicate)
          @name = name
          define_singleton_method(:fits?, &predicate)
        end

        def problem(_value, path) = "#{path} must be #{@name}"
      end

      # A list whose members all have one shape.
      ListOf = Struct.new(:member) do
        def fits?(value) = value.is_a?(Array) && value.all? { |each| member.fits?(each) }

        def problem(value, path)
          return "#{path} must be a list" unless value.is_a?(Array)

          number = value.index { |each| !member.fits?(each) }
          member.problem(value[number], "#{path}[#{number}]")
        end
      end

      # An object whose values all have one shape.
      MapOf = Struct.new(:member) do
        def fits?(value) = OBJECT.fits?(value) && value.all? { |_name, each| member.fits?(each) }

        def problem(value, path)
          return OBJECT.problem(value, path) unless OBJECT.fits?(value)

          name, wrong = value.find { |_name, each| !member.fits?(each) }
          member.problem(wrong, "#{path}.#{name}")
        end
      end

      # A value that may also be null.
      Nullable = Struct.new(:shape) do
        def fits?(value) = value.nil? || shape.fits?(value)
        def problem(value, path) = shape.problem(value, path)
      end

      # An object with fields. Fields that are not listed are ignored.
      class Fields
        include Checked

        def initialize(required = {}, optional = {})
          @required = required
          @shapes = { **required, **optional }
        end

        def fits?(value)
          return false unless value.is_a?(Hash)

          value.each_pair do |name, each|
            shape = @shapes[name]
            return false unless shape ? shape.fits?(each) : name.is_a?(String)
          end
          @required.each_key { |name| return false unless value.key?(name) }
          true
        end

        def problem(value, path)
          return OBJECT.problem(value, path) unless OBJECT.fits?(value)

          missing = @required.keys.find { |name| !value.key?(name) }
          return "#{path}.#{missing} is missing" if missing

          name, shape = @shapes.find { |each, found| value.key?(each) && !found.fits?(value[each]) }
          shape.problem(value[name], "#{path}.#{name}")
        end
      end

      # One of a few texts.
      def self.one_of(*texts) = Simple.new("one of #{texts.join(', ')}") { |value| texts.include?(value) }

      TEXT = Simple.new("text") do |value|
        value.is_a?(String) && value.encoding == Encoding::UTF_8 && value.valid_encoding?
      end
      INTEGER = Simple.new("an integer") { |value| value.is_a?(Integer) }
      NUMBER = Simple.new("a number") { |value| value.is_a?(Numeric) }
      FLAG = Simple.new("true or false") { |value| value == true || value == false }
      OBJECT = Simple.new("an object") { |value| value.is_a?(Hash) && value.all? { |key, _each| key.is_a?(String) } }
      LIST = Simple.new("a list") { |value| value.is_a?(Array) }
      TEXTS = ListOf.new(TEXT)
      LABELS = MapOf.new(TEXT)
    end
  end
end
