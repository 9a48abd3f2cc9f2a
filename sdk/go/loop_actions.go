package worker

import (
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

const late = "its deadline had passed before it could begin"

// The actions of the loop: requests of hubs, steps that begin or are returned, and shutdown.

func (l *loop) act(from *connection, now time.Time) error {
	actions := from.session.Actions
	from.session.Actions = nil
	for _, action := range actions {
		switch action := action.(type) {
		case wire.Stop:
			l.pool.stop(action.Token, action.Reason, now)
		case wire.DrainRequested:
			l.options.Logger.Printf("hub %s asks this worker to leave: %s", from.address, action.Reason)
			l.drain(now)
		case wire.SessionOpened:
			l.options.Logger.Printf("hub %s is there", from.address)
			l.connections.welcomed(from, action.Before)
		case wire.Reconnect:
			l.lost(from, action.Reason, now)
		case wire.HubClosed:
			if from.session.State != wire.Refused {
				l.lost(from, "it sent bye: "+action.Reason, now)
			} else if err := l.refused(from, action.Reason); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) lost(from *connection, reason string, now time.Time) {
	if !l.byeSentAt.IsZero() {
		return
	}
	backoff := l.connections.failed(from, now)
	l.options.Logger.Printf("hub %s: %s; the next try is in %.1f s", from.address, reason, backoff.Seconds())
}

// refused returns an error if every hub refuses this worker.
func (l *loop) refused(from *connection, reason string) error {
	from.close(0)
	err := &RefusedError{Hub: from.address, Reason: reason}
	if l.connections.allRefused() {
		return err
	}
	l.options.Logger.Print(err)
	return nil
}

// beginSteps begins steps while slots are free, in the order of arrival. A granted step counts as begun, even if this
// worker dies: leave is requested when a slot is free.
func (l *loop) beginSteps(now time.Time) {
	free := l.pool.free()
	l.heldSteps.EachWaiting(func(heldStep *wire.HeldStep) bool {
		if free <= 0 {
			return false
		}
		session := l.connections.sessionOf(heldStep.Hub)
		switch {
		case heldStep.IsLate(now):
			l.heldSteps.ReturnStep(heldStep.Token(), late)
		case session == nil || !session.InContact(time.Now()):
		case heldStep.Granted:
			free--
			l.heldSteps.Begin(heldStep)
			l.pool.start(newJob(l.base, heldStep.Step, l.options.Registry, l))
		default:
			free--
			l.heldSteps.RequestStart(heldStep)
		}
		return true
	})
}

// returnAll returns all steps that have not begun.
func (l *loop) returnAll() {
	l.heldSteps.EachWaiting(func(each *wire.HeldStep) bool {
		l.heldSteps.ReturnStep(each.Token(), "the worker is stopping")
		return true
	})
}

// returnSteps returns steps that cannot begin here soon, so that other workers get them.
func (l *loop) returnSteps(now time.Time) {
	l.heldSteps.EachWaiting(func(each *wire.HeldStep) bool {
		if reason := l.returnReason(each, now); reason != "" {
			l.heldSteps.ReturnStep(each.Token(), reason)
		}
		return true
	})
	for _, each := range waitTooLong(l.heldSteps, l.options.Concurrency, now) {
		l.heldSteps.ReturnStep(each.Token(), "it is not its turn for long")
	}
}

// returnReason returns why a step that waits is returned, "" if it is not.
func (l *loop) returnReason(heldStep *wire.HeldStep, now time.Time) string {
	switch {
	case heldStep.IsLate(now):
		return late
	case l.pool.stuck == l.options.Concurrency:
		return "all slots are held by handlers that do not return"
	case len(l.connections.opened()) == 0 || l.connections.sessionOf(heldStep.Hub) != nil:
		return ""
	case l.connections.gone(heldStep.Hub, now):
		return "its hub is gone"
	}
	return ""
}

// reportStuck reports a handler that did not end when it was stopped. It holds its slot until it ends.
func (l *loop) reportStuck(stuck *job) {
	outcome, reason := stuck.stopped()
	reason += "; the handler does not end and still runs"
	l.options.Logger.Printf("%s: %s", stuck.token(), reason)
	l.heldSteps.Finish(stuck.token(), wire.Unable(stuck.document, outcome, reason))
}

func (l *loop) drain(now time.Time) {
	if !l.draining {
		l.draining, l.stopBy = true, now.Add(l.options.Grace)
		l.options.Logger.Printf("stopping: %d steps run, and have %g s to finish",
			len(l.pool.running), l.options.Grace.Seconds())
	}
}

// abandon reports steps that end with this process as lost, which does not count as a failure of the handler.
func (l *loop) abandon() {
	l.takeInbox()
	for _, each := range l.heldSteps.Select(func(each *wire.HeldStep) bool { return each.State == wire.Running }) {
		l.heldSteps.Finish(each.Token(), wire.Unable(each.Step, wire.Lost, "its worker was stopped"))
	}
	changed := l.heldSteps.TakeChanged()
	for _, each := range l.connections.list {
		each.flush(changed, time.Now())
	}
}

// finishDrain sends bye once no step is held, and waits for the answer until byeTimeout.
func (l *loop) finishDrain(now time.Time) {
	if l.heldSteps.Len() > 0 || !l.pool.idle() {
		return
	}
	if l.byeSentAt.IsZero() {
		l.byeSentAt = now
		for _, each := range l.connections.opened() {
			each.session.Bye("drained")
		}
	}
	l.ended = len(l.connections.opened()) == 0 || !now.Before(l.byeSentAt.Add(byeTimeout))
}
