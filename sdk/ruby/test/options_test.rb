# frozen_string_literal: true

require "stringio"
require "support"
require "tmpdir"
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

  def test_the_secret_key_does_not_stay_in_the_environment_that_children_get
    variables = { "TURNOUT_CONNECT" => "tcp://h:1", "TURNOUT_CURVE_SERVER_KEY" => KEY,
             "TURNOUT_CURVE_PUBLIC_KEY" => "p" * 40, "TURNOUT_CURVE_SECRET_KEY" => "z" * 40 }
    ENV.update(variables)
    2.times { assert_equal [KEY, "p" * 40, "z" * 40], Turnout::Worker::Options.new.curve.to_a }
    printed = `env`
    assert_includes printed, "p" * 40
    refute_includes printed, "z" * 40
    refute_includes Turnout::Worker::Options.new.curve.inspect, "z" * 40
  ensure
    variables.each_key { |name| ENV.delete(name) }
  end

  def test_the_pair_may_be_in_a_file
    public_key, secret = ZMQ::Util.curve_keypair
    key_file(public_key, secret) do |file, log|
      [[{ "TURNOUT_CURVE_SERVER_KEY" => KEY, "TURNOUT_CURVE_KEY_FILE" => file }, {}],
       [{ "TURNOUT_CURVE_SERVER_KEY" => KEY }, { curve: { key_file: file } }],
       [{ "TURNOUT_CURVE_KEY_FILE" => file }, { curve: { server_key: KEY } }]].each do |env, given|
        assert_equal [KEY, public_key, secret], options(env, logger: Logger.new(log), **given).curve.to_a
      end
      assert_empty log.string
      File.chmod(0o640, file)
      options(logger: Logger.new(log), curve: { server_key: KEY, key_file: file })
      assert_match(/others on this machine can read .*worker.key.*chmod 600/, log.string)
    end
  end

  def test_a_key_file_that_is_none_is_refused_with_the_reason
    public_key, secret = ZMQ::Util.curve_keypair
    other, = ZMQ::Util.curve_keypair
    [[[public_key, ""], /has no secret key/], [[public_key, "short"], /the secret key in .* is none/],
     [[other, secret], /do not belong together/]].each do |halves, message|
      key_file(*halves) do |file|
        error = assert_raises(Turnout::ConfigurationError) { options(curve: { server_key: KEY, key_file: file }) }
        assert_match message, error.message
        refute_includes error.message, secret
      end
    end
    assert_match(/cannot be read/, assert_raises(Turnout::ConfigurationError) do
      options({ "TURNOUT_CURVE_SERVER_KEY" => KEY, "TURNOUT_CURVE_KEY_FILE" => "/nowhere" })
    end.message)
    assert_match(/one pair of keys/, assert_raises(Turnout::ConfigurationError) do
      options({ "TURNOUT_CURVE_KEY_FILE" => "/nowhere", "TURNOUT_CURVE_PUBLIC_KEY" => public_key })
    end.message)
  end

  # A file as `turnout keys generate` makes it.
  def key_file(public_key, secret)
    Dir.mktmpdir do |folder|
      file = File.join(folder, "worker.key")
      File.write(file, <<~TEXT, perm: 0o600)
        # A pair of keys of Turnout.
        metadata
        curve
            public-key = "#{public_key}"
            secret-key = "#{secret}"
      TEXT
      yield file, StringIO.new
    end
  end

  def test_all_three_keys_or_none
    assert_nil options.curve
    given = { secret_key: "z" * 40, server_key: KEY, public_key: "y" * 40 }
    assert_equal [KEY, "y" * 40, "z" * 40], options(curve: given).curve.to_a
  end
end
