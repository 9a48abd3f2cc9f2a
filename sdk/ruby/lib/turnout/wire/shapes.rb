# frozen_string_literal: true

module Turnout
  module Wire
    # What must a value look like to be taken? Each check raises Malformed with the path of what is wrong.
    module Shapes
      # A value of one kind, found by a question.
      class Simple
        def initialize(name, &question)
          @name = name
          @question = question
        end

        def check(value, path)
          raise Malformed, "#{path} must be #{@name}" unless @question.call(value)
        end
      end

      # A list whose members all have one shape.
      ListOf = Struct.new(:member) do
        def check(value, path)
          raise Malformed, "#{path} must be a list" unless value.is_a?(Array)

          value.each { |each| member.check(each, path) }
        end
      end

      # An object whose values all have one shape.
      MapOf = Struct.new(:member) do
        def check(value, path)
          OBJECT.check(value, path)
          value.each_value { |each| member.check(each, path) }
        end
      end

      # A value that may also be null.
      Nullable = Struct.new(:shape) do
        def check(value, path)
          shape.check(value, path) unless value.nil?
        end
      end

      # An object with fields. What is not listed is nobody's business.
      class Fields
        def initialize(required = {}, optional = {})
          @required = required
          @optional = optional
        end

        def check(value, path)
          OBJECT.check(value, path)
          @required.each do |name, shape|
            shape.check(value.fetch(name) { raise Malformed, "#{path}.#{name} is missing" }, "#{path}.#{name}")
          end
          @optional.each { |name, shape| shape.check(value[name], "#{path}.#{name}") if value.key?(name) }
        end
      end

      # One of a few texts.
      def self.one_of(*texts) = Simple.new("one of #{texts.join(', ')}") { |value| texts.include?(value) }

      TEXT = Simple.new("text") do |value|
        value.is_a?(String) && value.encoding == Encoding::UTF_8 && value.valid_encoding?
      end
      INTEGER = Simple.new("an integer") { |value| value.is_a?(Integer) }
      NUMBER = Simple.new("a number") { |value| value.is_a?(Numeric) }
      FLAG = Simple.new("true or false") { |value| [true, false].include?(value) }
      OBJECT = Simple.new("an object") { |value| value.is_a?(Hash) && value.each_key.all?(String) }
      LIST = Simple.new("a list") { |value| value.is_a?(Array) }
      ANY = Simple.new("anything") { true }
      TEXTS = ListOf.new(TEXT)
      LABELS = MapOf.new(TEXT)
    end
  end
end
