# frozen_string_literal: true

require "support"

module Shop
  class Charge
    def call(step) = "charged #{step.args[:amount]}"
  end

  class Useless; end

  module Inner
    class Refund
      def process(_task, _sequence, _step) = "refunded"
    end
  end

  # Known here by another name, and so not the shop's.
  Text = String
end

class RegistryTest < Minitest::Test
  def setup
    @registry = Turnout::Registry.new
  end

  def run_step(name, document = {}) = Turnout::Testing.run_step(name, document, registry: @registry)

  def test_blocks_objects_and_classes_are_handlers
    @registry.register("block") { "block" }
    @registry.register("object", ->(step) { step.name })
    @registry.register("class", Shop::Charge)
    assert_equal "block", run_step("block")["output"]
    assert_equal "step", run_step("object")["output"]
    assert_equal "charged 3", run_step("class", metadata: { args: { amount: 3 } })["output"]
    assert_equal %w[block object class], @registry.names
  end

  def test_a_handler_without_code_is_refused
    assert_raises(ArgumentError) { @registry.register("nothing") }
    assert_raises(Turnout::HandlerMissing) { @registry.register("useless", Shop::Useless) }
  end

  def test_classes_are_found_by_name_only_if_that_is_allowed
    assert_equal "handler_missing", run_step("Shop::Charge")["metadata"]["outcome"]
    @registry.autoload = true
    assert_equal ["*"], @registry.names
    assert_equal "completed", run_step("Shop::Charge")["status"]
    ["Shop::Nobody", "Shop", "Shop::Useless", "shop", "::File", "Kernel.exit"].each do |name|
      assert_equal "handler_missing", run_step(name)["metadata"]["outcome"], name
    end
  end

  def test_only_classes_of_the_module_that_was_named_are_found
    @registry.autoload = "Shop"
    assert_equal "completed", run_step("Shop::Charge")["status"]
    assert_equal "handler_missing", run_step("File")["metadata"]["outcome"]
  end

  def test_the_classes_of_a_module_are_listed_one_by_one
    @registry.autoload = "Shop"
    @registry.register("block") { nil }
    assert_equal %w[block Shop::Charge Shop::Inner::Refund], @registry.names
  end

  def test_a_module_that_is_not_there_is_named
    ["Nowhere", "not a name", "RUBY_VERSION"].each do |name|
      @registry.autoload = name
      error = assert_raises(Turnout::ConfigurationError) { @registry.names }
      assert_includes error.message, name
    end
  end

  def test_a_version_is_given_for_a_block
    @registry.register("block", version: "7") { nil }
    assert_equal "7", run_step("block")["metadata"]["handler_version"]
  end

  def test_what_is_around_every_handler_runs_in_the_order_of_registration
    calls = []
    @registry.around { |step, handler| calls << "outer #{step.name}"; handler.call }
    @registry.around { |_step, handler| calls << "inner"; handler.call.upcase }
    @registry.register("x") { calls << "x"; "done" }
    assert_equal "DONE", run_step("x")["output"]
    assert_equal ["outer step", "inner", "x"], calls
  end
end
