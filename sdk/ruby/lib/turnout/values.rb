# frozen_string_literal: true

module Turnout
  # An object of a document. Its keys are text; symbols are accepted too.
  #
  #   values = Turnout::Values.of({"order" => {"id" => 7}})
  #   values[:order][:id]          # => 7
  #   values.dig("order", "id")    # => 7
  class Values < Hash
    # The value with every object in it as Values.
    def self.of(value)
      case value
      when Values then value
      when Hash then value.each_with_object(new) { |(key, each), made| made[key] = of(each) }
      when Array then value.map { |each| of(each) }
      else value
      end
    end

    def [](key) = super(text(key))
    def fetch(key, *default, &block) = super(text(key), *default, &block)
    def key?(key) = super(text(key))
    def dig(key, *more) = super(text(key), *more)
    def values_at(*keys) = super(*keys.map { |key| text(key) })
    def slice(*keys) = super(*keys.map { |key| text(key) })
    alias has_key? key?
    alias include? key?
    alias member? key?

    private

    def text(key) = key.is_a?(Symbol) ? key.name : key
  end
end
