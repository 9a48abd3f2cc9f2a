package worker

import (
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

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

func (l *loop) beginSteps(now time.Time) {
	l.deadline, l.free = wire.Later, l.pool.free()
	for _, heldStep := range l.heldSteps.Select(func(each *wire.HeldStep) bool { return each.State == wire.Waiting }) {
		l.beginOrReturn(heldStep, now)
	}
}

// beginOrReturn begins a step, returns it, or leaves it waiting.
func (l *loop) beginOrReturn(heldStep *wire.HeldStep, now time.Time) {
	session := l.connections.sessionOf(heldStep.Hub)
	deadline, limited := heldStep.Deadline()
	switch {
	case l.draining:
		l.heldSteps.ReturnStep(heldStep.Token(), "the worker is stopping")
	case limited && !now.Before(deadline):
		l.heldSteps.ReturnStep(heldStep.Token(), "its deadline had passed before it could begin")
	case l.pool.stuck == l.options.Concurrency:
		l.heldSteps.ReturnStep(heldStep.Token(), "all slots are held by handlers that do not return")
	case session == nil && len(l.connections.opened()) > 0 && l.connections.gone(heldStep.Hub, now):
		l.heldSteps.ReturnStep(heldStep.Token(), "its hub is gone")
	case l.free > 0 && session != nil && session.InContact(time.Now()):
		l.free--
		l.begin(heldStep)
	case limited:
		l.deadline = earliest(l.deadline, deadline)
	}
}

// begin starts a step that may begin. A granted step counts as begun, even if this worker dies: leave is requested when
// a slot is free.
func (l *loop) begin(heldStep *wire.HeldStep) {
	if !heldStep.Granted {
		heldStep.StartWanted = true
		return
	}
	heldStep.State = wire.Running
	l.pool.start(newJob(l.base, heldStep.Step, l.options.Registry, l))
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
	for _, each := range l.connections.list {
		each.flush(time.Now())
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
	l.deadline = l.byeSentAt.Add(byeTimeout)
	l.ended = len(l.connections.opened()) == 0 || !now.Before(l.deadline)
}
