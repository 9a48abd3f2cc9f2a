require "minitest/autorun"
require "turnout/testing"
require_relative "ship_order"

class ShipOrderTest < Minitest::Test
  PAID = { order: { order_id: 7 }, payment: { transaction_id: "t" }, label: { tracking_number: "TN7" } }.freeze

  def ship(args, **metadata)
    document = { handler_config: { carrier: "sea" }, metadata: { args: args, **metadata } }
    Turnout::Testing.run_step("OrderFulfillment::ShipOrder", document, lines: @lines = [])
  end

  def test_it_ships
    assert_equal "TN7", ship(PAID)["output"]["tracking_number"]
    assert_equal [["log", "order 7 goes with sea"]], @lines
  end

  def test_it_does_not_ship_what_is_not_paid
    result = ship(PAID.merge(payment: {}))
    assert_equal ["failed", "not paid", false], [result["status"], result["error"]["message"], result["metadata"]["retryable"]]
  end

  def test_a_full_van_is_tried_again_later
    full = PAID.merge(order: { order_id: 8 })
    assert_equal 200, ship(full)["metadata"]["retry_after_ms"]
    assert_equal "completed", ship(full, attempt: 1)["status"]
  end
end
