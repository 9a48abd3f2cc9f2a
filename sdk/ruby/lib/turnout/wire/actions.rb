# frozen_string_literal: true

module Turnout
  # The actions that a WorkerSession asks of the owner of its socket and its handlers.
  module Wire
    # End the handler of this token; with +drop+ its result is not needed.
    Stop = Struct.new(:token, :reason, :drop)
    # Replace this connection after a backoff, and open the session again.
    Reconnect = Struct.new(:reason)
    # The hub asks this worker to drain.
    DrainRequested = Struct.new(:reason)
    # The hub has sent bye, or refuses this worker (the session is then refused).
    HubClosed = Struct.new(:reason)
    # The hub has welcomed this worker; +before+ is the hub that answered at this address before, if it was another.
    SessionOpened = Struct.new(:hub, :before)
  end
end
