# frozen_string_literal: true

require "fake_hub"
require "open3"
require "tmpdir"

class CommandTest < Minitest::Test
  include Support

  PROGRAM = File.expand_path("../exe/turnout-worker", __dir__)

  def setup
    @folder = Dir.mktmpdir
    @handlers = File.join(@folder, "handlers.rb")
    File.write(@handlers, 'Turnout.handler("greet") { |step| "hello #{step.args[:name]}" }')
  end

  def teardown = FileUtils.rm_rf(@folder)

  def run_program(*arguments, **env)
    Open3.capture3(env.transform_keys(&:name), RbConfig.ruby, PROGRAM, *arguments)
  end

  def test_a_program_serves_the_handlers_of_its_files_and_drains_on_sigterm
    context = ZMQ::Context.new
    hub = FakeHub.new(context)
    arguments = ["-r", @handlers, "-c", hub.address, "-l", "zone=a", "-n", "3"]
    program = spawn(RbConfig.ruby, PROGRAM, *arguments, err: File::NULL)
    hello = hub.welcome_worker
    assert_equal [["greet"], { "zone" => "a" }, 6], hello.values_at("handlers", "labels", "credits")
    hub.send_message("steps", batch(step("1.1", handler: "greet", args: { "name" => "you" })))
    assert_equal "hello you", hub.results(1).fetch("1.1")["output"]
    Process.kill("TERM", program)
    hub.expect("bye")
    hub.send_message("bye", {})
    assert_equal 0, Process.wait2(program)[1].exitstatus
    program = nil
  ensure
    if program
      Process.kill("KILL", program)
      Process.wait(program)
    end
    hub.close
    context.terminate
  end

  def test_wrong_options_end_with_a_sentence
    [
      [["-r", @handlers], /TURNOUT_CONNECT/], [["-c", "tcp://h:1"], /no handlers/], [["--nonsense"], /nonsense/],
      [["-r", @handlers, "-c", "tcp://nowhere"], /cannot connect to tcp:..nowhere/], [["-l", "gpu"], /NAME=VALUE/]
    ].each do |arguments, message|
      _out, err, status = run_program(*arguments)
      assert_equal 2, status.exitstatus, err
      assert_match message, err.lines.last
    end
  end
end
