# frozen_string_literal: true

require "turnout/errors"
require "turnout/process_interface"

module Turnout
  # Finds the handler of a +handler_class+.
  class Registry
    CONSTANT = /\A[A-Z]\w*(::[A-Z]\w*)*\z/
    ANY = "*"

    # A handler, ready to be called with a step.
    Entry = Struct.new(:callable, :version) do
      def call(step) = callable.call(step)
    end

    # How a name that is not registered is looked up as a class: +true+, or the name of the module that the class must
    # be in ("OrderFulfillment").
    attr_accessor :autoload

    def initialize
      @entries = {}
      @around = []
    end

    # A block, an object with +call(step)+, or a class whose instances have +call(step)+ or
    # <tt>process(task, sequence, step)</tt>; a class gets a new instance for each step.
    def register(name, callable = nil, version: nil, &block)
      given = callable || block
      raise ArgumentError, "handler #{name}: give a block, an object with call(step), or a class" unless given

      @entries[name.to_s] = entry(given, version)
      given
    end

    # Wraps every handler: the block gets the step and a callable, and must call it.
    def around(&block) = @around << block

    # The names in a worker's hello. The classes of a module are listed one by one, so that no other step is sent here.
    def names
      return [ANY] if autoload == true

      autoload ? @entries.keys | classes_in(autoload) : @entries.keys
    end

    # The Entry of this name; raises HandlerMissing. Classes that are found by name are looked up each time: a
    # framework that reloads code may have replaced them.
    def find(name) = @entries[name] || entry(constant(name), nil)

    # Runs a handler inside all +around+ blocks.
    def call(entry, step)
      @around.reverse.reduce(-> { entry.call(step) }) { |inner, outer| -> { outer.call(step, inner) } }.call
    end

    private

    def entry(given, version)
      return Entry.new(given, version || version_of(given.class)) unless given.is_a?(Class)

      Entry.new(instances_of(given), version || version_of(given))
    end

    def instances_of(handler)
      raise HandlerMissing, "#{handler} has neither call(step) nor process(task, sequence, step)" unless handler?(handler)

      if handler.method_defined?(:process)
        ->(step) { handler.new.process(*ProcessInterface.arguments(step)) }
      else
        ->(step) { handler.new.call(step) }
      end
    end

    def handler?(given)
      given.is_a?(Class) && (given.method_defined?(:process) || given.method_defined?(:call))
    end

    # The names of all handlers inside a module, at any depth. Asking for them loads those that are loaded on demand.
    def classes_in(name)
      home = CONSTANT.match?(name) && Object.const_defined?(name) && Object.const_get(name)
      raise ConfigurationError, "autoload: there is no module #{name}" unless home.is_a?(Module)

      inside = home.constants(false).sort.map { |each| home.const_get(each, false) }
      # Aliases of classes of other modules are left out.
      inside = inside.select { |each| each.is_a?(Module) && each.name&.start_with?("#{name}::") }
      inside.flat_map { |each| [*(each.name if handler?(each)), *classes_in(each.name)] }
    end

    # Its own VERSION, or an inherited one; not that of Object.
    def version_of(handler)
      home = (handler.ancestors - Object.ancestors).find { |each| each.const_defined?(:VERSION, false) }
      home && home::VERSION.to_s
    end

    def constant(name)
      allowed = autoload == true || (autoload && name.start_with?("#{autoload}::"))
      raise HandlerMissing, "there is no handler #{name} here" unless allowed && CONSTANT.match?(name)

      found = Object.const_get(name)
      found.is_a?(Class) ? found : raise(HandlerMissing, "#{name} is not a class")
    rescue NameError
      raise HandlerMissing, "there is no handler #{name} here, and no class of this name"
    end
  end
end
