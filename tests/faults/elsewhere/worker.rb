# frozen_string_literal: true

# The handler of the fault tests in Ruby.

$LOAD_PATH.unshift(File.join(ENV.fetch("TURNOUT_FAULTS_SDK"), "lib"))
require "turnout"

FILE = File.open(ENV.fetch("TURNOUT_FAULTS_FILE"), File::WRONLY | File::APPEND | File::CREAT)

def note(what, step)
  FILE.syswrite("#{what} #{step.token} #{step.attempt} ruby #{Process.pid}\n")
end

%w[elsewhere.any elsewhere.ruby].each do |name|
  Turnout.handler(name) do |step|
    note("begin", step)
    sleep(rand * step.args[:seconds])
    note("end", step)
    "#{step.args[:text]}>#{step.name}"
  end
end

Turnout.handler("elsewhere.trace") { |step| step.traceparent }

Turnout.run
