package worker

import (
	"time"

	"turnout/worker/wire"
)

// What the loop decides: what hubs ask for, which steps begin, and when it is over.

func (l *loop) act(from *connection, now time.Time) error {
	actions := from.link.Actions
	from.link.Actions = nil
	for _, action := range actions {
		switch action := action.(type) {
		case wire.Stop:
			l.pool.stop(action.Token, action.Reason, now)
		case wire.DrainAsked:
			l.drain("asked by the hub: " + action.Reason)
		case wire.Welcomed:
			l.options.Logger.Printf("hub %s at %s is there", action.Hub, from.address)
			l.connections.welcomed(from, action.Before)
		case wire.Reconnect:
			l.part(from, action.Reason, now)
		case wire.Parted:
			l.part(from, action.Reason, now)
			if l.connections.allRefused() {
				return &RefusedError{action.Reason}
			}
		}
	}
	return nil
}

func (l *loop) part(from *connection, reason string, now time.Time) {
	l.options.Logger.Printf("hub at %s: %s", from.address, reason)
	if from.link.State == wire.Refused {
		from.close()
		return
	}
	l.connections.failed(from, now)
}

func (l *loop) beginWhatMay(now time.Time) {
	l.deadline, l.free = wire.Later, l.pool.free()
	for _, holding := range l.holdings.Select(func(each *wire.Holding) bool { return each.State == wire.Waiting }) {
		l.consider(holding, now)
	}
}

// consider begins a step, gives it back, or leaves it where it is.
func (l *loop) consider(holding *wire.Holding, now time.Time) {
	link := l.connections.linkOf(holding.Hub)
	deadline, limited := holding.Deadline()
	switch {
	case l.draining != "":
		l.holdings.GiveBack(holding.Token(), "the worker is ending")
	case limited && !now.Before(deadline):
		l.holdings.GiveBack(holding.Token(), "its deadline has passed before it began")
	case link == nil && len(l.connections.opened()) > 0 && l.connections.gone(holding.Hub, now):
		l.holdings.GiveBack(holding.Token(), "its hub is gone")
	case l.free > 0 && link != nil && link.InContact(time.Now()):
		l.free--
		l.begin(holding)
	case limited:
		l.deadline = earliest(l.deadline, deadline)
	}
}

// begin starts a step that may begin. Whoever has leave to is taken to have begun, also if this worker dies: it is asked
// for when there is a place.
func (l *loop) begin(holding *wire.Holding) {
	if !holding.Granted {
		holding.Asks = true
		return
	}
	holding.State = wire.Running
	l.pool.start(newJob(l.base, holding.Step, l.options.Registry, l))
}

// giveUp reports a handler that did not end when it was told to. It holds its place until it does; the hub need not wait
// for that.
func (l *loop) giveUp(stuck *job) {
	outcome, reason := stuck.stopped()
	reason += "; the handler does not end and still runs"
	l.options.Logger.Printf("%s: %s", stuck.token(), reason)
	l.holdings.Finish(stuck.token(), wire.Unable(stuck.document, outcome, reason))
}

func (l *loop) drain(reason string) {
	if l.draining == "" {
		l.options.Logger.Printf("draining: %s", reason)
		l.draining = reason
	}
}

// leave says bye once nothing is in hand, and waits for the answer a moment.
func (l *loop) leave(now time.Time) {
	if l.holdings.Len() > 0 || !l.pool.idle() {
		return
	}
	if l.left.IsZero() {
		l.left = now
		for _, each := range l.connections.opened() {
			each.link.Bye(l.draining)
		}
	}
	l.deadline = l.left.Add(byePatience)
	l.ended = len(l.connections.opened()) == 0 || !now.Before(l.deadline)
}
