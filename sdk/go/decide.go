package worker

import (
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
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
			l.options.Logger.Printf("hub %s asks this worker to leave: %s", from.address, action.Reason)
			l.drain(now)
		case wire.Welcomed:
			l.options.Logger.Printf("hub %s is there", from.address)
			l.connections.welcomed(from, action.Before)
		case wire.Reconnect:
			l.lost(from, action.Reason, now)
		case wire.Parted:
			if from.link.State != wire.Refused {
				l.lost(from, "it said bye: "+action.Reason, now)
			} else if err := l.refused(from, action.Reason); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) lost(from *connection, reason string, now time.Time) {
	if !l.left.IsZero() {
		return // it leaves anyway
	}
	pause := l.connections.failed(from, now)
	l.options.Logger.Printf("hub %s: %s; the next try is in %.1f s", from.address, reason, pause.Seconds())
}

// refused is an error if no other hub wants this worker.
func (l *loop) refused(from *connection, reason string) error {
	from.close(0)
	err := &RefusedError{Hub: from.address, Reason: reason}
	if l.connections.allRefused() {
		return err
	}
	l.options.Logger.Print(err)
	return nil
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
	case l.draining:
		l.holdings.GiveBack(holding.Token(), "the worker is stopping")
	case limited && !now.Before(deadline):
		l.holdings.GiveBack(holding.Token(), "its deadline had passed before it could begin")
	case l.pool.stuck == l.options.Concurrency:
		l.holdings.GiveBack(holding.Token(), "all places are held by handlers that do not return")
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

func (l *loop) drain(now time.Time) {
	if !l.draining {
		l.draining, l.stopBy = true, now.Add(l.options.Grace)
		l.options.Logger.Printf("stopping: %d steps run, and have %g s to finish",
			len(l.pool.running), l.options.Grace.Seconds())
	}
}

// abandon says what ends with this process. Its hubs need not wait to find out, and nobody takes it for a failure of the
// handler.
func (l *loop) abandon() {
	l.takeInbox()
	for _, each := range l.holdings.Select(func(each *wire.Holding) bool { return each.State == wire.Running }) {
		l.holdings.Finish(each.Token(), wire.Unable(each.Step, wire.Lost, "its worker was stopped"))
	}
	for _, each := range l.connections.list {
		each.flush(time.Now())
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
			each.link.Bye("drained")
		}
	}
	l.deadline = l.left.Add(byePatience)
	l.ended = len(l.connections.opened()) == 0 || !now.Before(l.deadline)
}
