# frozen_string_literal: true

# What can a handler raise, and what can be raised in it?
#
#   StandardError
#   ├─ Turnout::Error
#   │  ├─ PermanentError      another attempt would not help
#   │  ├─ RetryAfter          try again, but not before so many seconds
#   │  ├─ Defer               nothing went wrong: run me again later, from the top
#   │  ├─ NotJson             the handler returned something that cannot travel
#   │  ├─ HandlerMissing      nobody answers to this name here
#   │  ├─ ConfigurationError  an option of the worker is wrong
#   │  └─ Refused             no hub wants this worker
#   Exception
#   └─ Turnout::Interruption  raised in a handler's thread; a bare +rescue+ does not swallow it
#      ├─ Cancelled
#      └─ TimedOut
module Turnout
  class Error < StandardError
    private

    # Seconds as a number that JSON knows.
    def pause(seconds)
      number = seconds.is_a?(Integer) ? seconds : Float(seconds)
      return number if number.finite? && !number.negative?

      raise ArgumentError, "#{seconds} is no time to wait: give seconds"
    end
  end

  # Raise it when another attempt would not help.
  class PermanentError < Error; end

  # Raise it to be tried again, but not before +seconds+ have passed.
  class RetryAfter < Error
    attr_reader :seconds

    def initialize(seconds, message = "later")
      super(message)
      @seconds = pause(seconds)
    end
  end

  # Raise it to give the place free and run again from the top after +seconds+; +saved+ is there then as
  # <tt>step.saved</tt>. It costs no attempt.
  class Defer < Error
    attr_reader :seconds, :saved

    def initialize(seconds, saved: nil)
      super("deferred for #{seconds} s")
      @seconds = pause(seconds)
      @saved = saved
    end
  end

  class NotJson < Error; end
  class HandlerMissing < Error; end
  class ConfigurationError < Error; end
  class Refused < Error; end

  # Ends a handler from outside. Not a StandardError, so that <tt>rescue => error</tt> in a handler lets it pass.
  class Interruption < Exception
    # The outcome that the hub is told.
    def outcome = self.class::OUTCOME
  end

  # The hub does not want the result any more.
  class Cancelled < Interruption
    OUTCOME = "cancelled"
  end

  # The step took longer than it may.
  class TimedOut < Interruption
    OUTCOME = "timed_out"
  end
end
