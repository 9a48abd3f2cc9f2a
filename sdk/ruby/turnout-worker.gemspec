# frozen_string_literal: true

require_relative "lib/turnout/version"

Gem::Specification.new do |spec|
  spec.name = "turnout-worker"
  spec.version = Turnout::VERSION
  spec.summary = "Runs steps of Turnout workflows in Ruby, over ZeroMQ."
  spec.description = "A worker for Turnout: handlers as blocks or classes, with timeouts, cancellation, heartbeats and drain."
  spec.authors = ["Turnout contributors"]
  spec.license = "Apache-2.0"
  spec.homepage = "https://github.com/turnout-workflows/turnout"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "exe/*", "README.md", "LICENSE"] }
  spec.bindir = "exe"
  spec.executables = ["turnout-worker"]
  spec.require_paths = ["lib"]
  spec.metadata["source_code_uri"] = "#{spec.homepage}/tree/main/sdk/ruby"
  spec.metadata["changelog_uri"] = "#{spec.homepage}/blob/main/CHANGELOG.md"
  spec.metadata["rubygems_mfa_required"] = "true"
  # MessagePack is offered where it is installed; JSON is enough for everything.
  spec.add_dependency "ffi-rzmq", "~> 2.0"
end
