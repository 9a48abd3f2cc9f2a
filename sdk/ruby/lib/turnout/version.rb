# frozen_string_literal: true

module Turnout
  VERSION = "0.1.0"
end
