package wire

// Action is what a link asks of whoever owns its socket and its handlers.
type Action interface{}

// Stop ends the handler of a token; with Drop nobody wants to hear how.
type Stop struct {
	Token, Reason string
	Drop          bool
}

// Reconnect says that this connection is of no use any more.
type Reconnect struct{ Reason string }

// DrainAsked says that the hub wants this worker to end.
type DrainAsked struct{ Reason string }

// Parted says that the hub has said bye, or has refused the worker.
type Parted struct{ Reason string }

// Welcomed says that there is a session; Before is the hub that answered here before, if it was another.
type Welcomed struct{ Hub, Before string }
