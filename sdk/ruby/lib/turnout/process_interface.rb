# frozen_string_literal: true

require "delegate"
require "turnout/values"

module Turnout
  # Builds the arguments of handlers with +process(task, sequence, step)+ from the step's document.
  module ProcessInterface
    # The run: its id, and its input as +context+.
    Task = Struct.new(:task_id, :context, :name, keyword_init: true) do
      alias_method :id, :task_id
    end

    # A step that this one depends on.
    PreviousStep = Struct.new(:name, :results, keyword_init: true)

    # The steps before this one.
    class Sequence
      include Enumerable

      attr_reader :steps

      def initialize(results)
        @steps = results.map { |name, result| PreviousStep.new(name: name, results: result) }
      end

      def each(&block) = @steps.each(&block)

      # The step of this name, nil if this step does not depend on it.
      def find_step_by_name(name) = @steps.find { |step| step.name == name.to_s }

      # The output of the step of this name.
      def [](name) = find_step_by_name(name)&.results
      alias results_of []
    end

    # The step with the names of that interface, and all methods of Turnout::Step.
    class StepView < SimpleDelegator
      def step_id = id
      def handler_config = config
      def inputs = args
    end

    module_function

    # The three arguments of +process+.
    def arguments(step)
      task = Task.new(task_id: step.task_id, context: step.context, name: step.metadata["workflow"])
      [task, Sequence.new(step.previous), StepView.new(step)]
    end
  end
end
