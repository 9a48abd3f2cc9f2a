# frozen_string_literal: true

module Turnout
  # What a link asks of whoever owns its socket and its handlers.
  module Wire
    # End the handler of this token; with +drop+ nobody wants to hear how.
    Stop = Struct.new(:token, :reason, :drop)
    # This connection is of no use any more: make another, after a pause, and open the link again.
    Reconnect = Struct.new(:reason)
    # The hub wants this worker to end.
    DrainAsked = Struct.new(:reason)
    # The hub has said bye, or does not want this worker (the link is then refused).
    Parted = Struct.new(:reason)
    # The hub lets this worker in; +before+ is the hub that answered here before, if it was another.
    Welcomed = Struct.new(:hub, :before)
  end
end
