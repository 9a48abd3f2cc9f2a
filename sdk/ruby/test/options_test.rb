# frozen_string_literal: true

require "support"
require "turnout/worker"

class OptionsTest < Minitest::Test
  KEY = "x" * 40

  def options(env = {}, **given)
    Turnout::Worker::Options.new(env: { "TURNOUT_CONNECT" => "tcp://h:1" }.merge(env), **given)
  end

  def test_what_is_not_given_comes_from_the_environment
    found = options({ "TURNOUT_CONNECT" => "tcp://a:1, tcp://b:2", "TURNOUT_WORKER_NAME" => "w",
                      "TURNOUT_WORKER_LABELS" => "gpu=true,zone=a", "TURNOUT_WORKER_CONCURRENCY" => "8" })
    assert_equal [%w[tcp://a:1 tcp://b:2], "w", { "gpu" => "true", "zone" => "a" }, 8],
                 [found.connect, found.name, found.labels, found.concurrency]
    assert_equal 2, options({ "TURNOUT_WORKER_CONCURRENCY" => "8" }, concurrency: 2).concurrency
  end

  def test_an_empty_variable_is_as_good_as_none
    found = options({ "TURNOUT_WORKER_NAME" => "", "TURNOUT_WORKER_LABELS" => "", "TURNOUT_WORKER_CONCURRENCY" => "" })
    assert_equal ["#{Socket.gethostname}-#{Process.pid}", {}, 4], [found.name, found.labels, found.concurrency]
  end

  def test_hello_says_which_process_this_is
    hello = options.hello([])
    assert_equal Process.pid, hello["pid"]
    return unless File.exist?("/proc/self/stat")

    assert_equal [File.readlink("/proc/self/ns/pid"), File.read("/proc/self/stat").split[-31]],
                 hello.values_at("pid_namespace", "process_started")
  end

  def test_wrong_options_are_refused_with_what_would_be_right
    [
      [{ "TURNOUT_CONNECT" => "" }, /TURNOUT_CONNECT/],
      [{ "TURNOUT_CONNECT" => "tcp://a:1,127.0.0.1:5890" }, %r{"127.0.0.1:5890": write tcp://host:port}],
      [{ "TURNOUT_WORKER_CONCURRENCY" => "many" }, /from 1 to 10000/],
      [{ "TURNOUT_WORKER_LABELS" => "gpu" }, /NAME=VALUE/],
      [{ "TURNOUT_WORKER_LABELS" => "gpu=" }, /NAME=VALUE/],
      [{ "TURNOUT_CURVE_SERVER_KEY" => KEY }, /missing: public_key, secret_key/],
      [{ "TURNOUT_CURVE_SERVER_KEY" => KEY, "TURNOUT_CURVE_PUBLIC_KEY" => KEY, "TURNOUT_CURVE_SECRET_KEY" => "x" },
       /secret_key.*40/]
    ].each do |env, message|
      assert_match message, assert_raises(Turnout::ConfigurationError) { options(env) }.message
    end
  end

  def test_all_three_keys_or_none
    assert_nil options.curve
    given = { secret_key: "z" * 40, server_key: KEY, public_key: "y" * 40 }
    assert_equal [KEY, "y" * 40, "z" * 40], options(curve: given).curve.to_a
  end
end
