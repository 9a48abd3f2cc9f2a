# frozen_string_literal: true

module Turnout
  # Return it from a step that chooses which of its dependents run.
  #
  #   Turnout.handler("triage") { |step| Turnout::Branch.new(step.args[:total] > 100 ? "review" : "ship") }
  class Branch
    attr_reader :chosen, :output

    def initialize(*chosen, output: nil)
      @chosen = chosen.map(&:to_s)
      @output = output
    end
  end
end
