# frozen_string_literal: true

# The worker program of `turnout conformance --cmd "ruby sdk/ruby/conformance/worker.rb"`.

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "turnout"

Turnout.handler("conformance.echo") do |step|
  { args: step.args, positional: step.positional, config: step.config, context: step.context,
    previous: step.previous }
end
Turnout.handler("conformance.fail") { raise "failed on purpose" }
Turnout.handler("conformance.fail_permanently") { raise Turnout::PermanentError, "never again" }
Turnout.handler("conformance.retry_after") { raise Turnout::RetryAfter.new(1.5, "later") }
Turnout.handler("conformance.sleep") do |step|
  sleep(step.config[:ms] / 1000.0)
  "slept"
end
Turnout.handler("conformance.say") do |step|
  step.config[:lines].each { |line| puts line }
  sleep(step.config[:ms] / 1000.0) if step.config[:ms]
  step.config[:lines].size
end
Turnout.handler("conformance.progress") do |step|
  step.progress(1, 2)
  step.progress(2, 2)
end
Turnout.handler("conformance.append") do |step|
  File.open(step.config[:file], "a") { |file| file.write("#{step.token}\n") }
  nil
end

Turnout.handler("conformance.large") { |step| "x" * step.config[:size] }

begin
  exit Turnout.run == :drained ? 0 : 1
rescue Turnout::Refused => error
  abort "conformance worker: #{error.message}"
end
