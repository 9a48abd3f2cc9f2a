# frozen_string_literal: true

# The errors that a handler can raise, and the interruptions that are raised in it.
#
#   StandardError
#   ├─ Turnout::Error
#   │  ├─ PermanentError      another attempt would not help
#   │  ├─ RetryAfter          retry, but not before so many seconds
#   │  ├─ Defer               not a failure: run again later, from the top
#   │  ├─ NotJson             the handler returned a value that is not JSON
#   │  ├─ HandlerMissing      no handler of this name is registered
#   │  ├─ ConfigurationError  an option of the worker is wrong
#   │  └─ Refused             every hub refuses this worker
#   Exception
#   └─ Turnout::Interruption  raised in a handler's thread; a bare +rescue+ does not rescue it
#      ├─ Cancelled
#      └─ TimedOut
module Turnout
  class Error < StandardError
    private

    # Seconds as a number that JSON knows.
    def pause(seconds)
      number = seconds.is_a?(Integer) ? seconds : Float(seconds)
      return number if number.finite? && !number.negative?

      raise ArgumentError, "#{seconds} is not a number of seconds"
    end
  end

  # Raise it when another attempt would not help.
  class PermanentError < Error; end

  # Raise it to be retried, but not before +seconds+ have passed.
  class RetryAfter < Error
    attr_reader :seconds

    def initialize(seconds, message = "later")
      super(message)
      @seconds = pause(seconds)
    end
  end

  # Raise it to free the slot and run again from the top after +seconds+, with +saved+ as <tt>step.saved</tt>. It uses
  # up no retry.
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
    # The outcome in the result document.
    def outcome = self.class::OUTCOME
  end

  # The result is no longer needed.
  class Cancelled < Interruption
    OUTCOME = "cancelled"
  end

  # The timeout of the step has passed.
  class TimedOut < Interruption
    OUTCOME = "timed_out"
  end
end
