package wire

// Action is a request of a session to the owner of its socket and its handlers.
type Action interface{}

// Stop ends the handler of a token; with Drop its result is not needed.
type Stop struct {
	Token, Reason string
	Drop          bool
}

// Reconnect asks for another connection after a backoff.
type Reconnect struct{ Reason string }

// DrainRequested reports that the hub asks this worker to drain.
type DrainRequested struct{ Reason string }

// HubClosed reports that the hub has sent bye, or has refused the worker.
type HubClosed struct{ Reason string }

// SessionOpened reports a welcome; Before is the hub that answered at this address before, if it was another.
type SessionOpened struct{ Hub, Before string }
