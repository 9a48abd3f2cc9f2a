package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	// Lines, progress and results in the inbox; handlers that add more block.
	maxInbox   = 10_000
	byeTimeout = time.Second
	maxWait    = time.Minute
	// With so many unacknowledged results the credits are 0 until half of them are acknowledged.
	maxUnacknowledged = 1_000
)

// event is a message of a handler: a result, progress, or else a line.
type event struct {
	token, stream, text string
	result              *wire.Result
	progress            *wire.Progress
}

// loop owns the sockets and all held steps; one goroutine, on one OS thread, runs it. Handlers reach it through a
// channel and a pipe.
type loop struct {
	options     Options
	base        context.Context // of handlers
	heldSteps   *wire.HeldSteps
	connections *connections
	pool        *pool
	prefetch    prefetch
	inbox       chan event
	wakeup      *wakeup
	over        chan struct{}
	stops       int32
	helloSeq    int64
	full        bool // of unacknowledged results
	draining    bool
	stopBy      time.Time // the end of the grace period, once it drains
	byeSentAt   time.Time // zero before bye is sent
	ended       bool
}

func newLoop(base context.Context, options Options, context *zmq.Context) (*loop, error) {
	hello, err := options.hello()
	if err != nil {
		return nil, err
	}
	wakeup, err := newWakeup()
	if err != nil {
		return nil, err
	}
	l := &loop{
		options: options, base: base, heldSteps: wire.NewHeldSteps(), inbox: make(chan event, maxInbox), wakeup: wakeup,
		over: make(chan struct{}), stopBy: wire.Later,
	}
	l.pool = newPool(options.Concurrency, options.KillGrace, func(token string, result *wire.Result) {
		l.post(event{token: token, result: result})
	})
	l.connections = newConnections(
		func() *wire.WorkerSession {
			return wire.NewWorkerSession(hello, l.heldSteps, l.credits(), l.nextHelloSeq, func(each *wire.HeldStep) bool {
				return l.connections.sessionOf(each.Hub) == nil
			})
		},
		func(address string) (*dealer, error) { return dial(context, address, options) },
		options.Logger,
	)
	l.connections.discover = !options.NoDiscover
	for _, address := range options.Connect {
		l.connections.add(address, false)
	}
	l.connections.divide(l.credits())
	return l, nil
}

// stop drains; the second call stops at once. Any goroutine may call it.
func (l *loop) stop() {
	atomic.AddInt32(&l.stops, 1)
	l.wakeup.signal()
}

func (l *loop) run() error {
	defer l.close()
	for !l.ended {
		if atomic.LoadInt32(&l.stops) > 1 || !time.Now().Before(l.stopBy) {
			l.abandon()
			return ErrStopped
		}
		if err := l.round(time.Now()); err != nil {
			return err
		}
		if err := l.wait(); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) close() {
	close(l.over)
	l.pool.stopAll("the worker has ended")
	l.connections.close()
	l.wakeup.close()
}

func (l *loop) round(now time.Time) error {
	l.wakeup.clear()
	l.takeInbox()
	for _, each := range l.connections.all() {
		if err := each.receive(now); err != nil {
			return err
		}
		if err := l.act(each, now); err != nil {
			return err
		}
	}
	if atomic.LoadInt32(&l.stops) > 0 {
		l.drain(now)
	}
	for _, stuck := range l.pool.tick(now) {
		l.reportStuck(stuck)
	}
	l.connections.refresh(now)
	if l.draining {
		l.returnAll()
	} else {
		l.beginSteps(now)
	}
	l.prefetch.busy(len(l.pool.running) > 0, now)
	if l.prefetch.isDue(now) {
		l.prefetch.tick(l.options.Concurrency-l.pool.stuck, now)
		l.returnSteps(now)
	}
	l.connections.divide(l.credits())
	if l.draining {
		l.finishDrain(now)
	}
	changed := l.heldSteps.TakeChanged()
	for _, each := range l.connections.all() {
		each.flush(changed, now)
		if err := l.act(each, now); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) wait() error {
	if l.ended || len(l.inbox) > 0 {
		return nil
	}
	due := earliest(earliest(l.pool.nextDue(), l.prefetch.nextDue(l.heldSteps.Len() == 0)), l.stopBy)
	if !l.byeSentAt.IsZero() {
		due = earliest(due, l.byeSentAt.Add(byeTimeout))
	}
	for _, each := range l.connections.list {
		due = earliest(due, each.nextDue())
	}
	wait := time.Until(due)
	if wait < 0 {
		wait = 0
	}
	if wait > maxWait {
		wait = maxWait
	}
	return zmq.Poll(l.connections.sockets(), l.wakeup.read, wait)
}

func (l *loop) post(message event) {
	select {
	case l.inbox <- message:
		l.wakeup.signal()
	case <-l.over:
	}
}

func (l *loop) onLine(token, stream, text string) {
	l.post(event{token: token, stream: stream, text: text})
}

func (l *loop) onProgress(progress *wire.Progress) {
	l.post(event{token: progress.Token, progress: progress})
}

func (l *loop) takeInbox() {
	for count := len(l.inbox); count > 0; count-- {
		message := <-l.inbox
		switch {
		case message.result != nil:
			l.pool.release(message.token)
			l.prefetch.ended++
			l.heldSteps.Finish(message.token, message.result)
		case message.progress != nil:
			if heldStep := l.heldSteps.Get(message.token); heldStep != nil {
				if session := l.connections.sessionOf(heldStep.Hub); session != nil {
					session.Progress(message.progress)
				}
			}
		default:
			l.heldSteps.AddLine(message.token, message.stream, message.text)
		}
	}
}

func (l *loop) nextHelloSeq() int64 {
	l.helloSeq++
	return l.helloSeq
}

// credits returns the number of steps to ask for in all.
func (l *loop) credits() int {
	limit := maxUnacknowledged
	if l.full {
		limit /= 2
	}
	l.full = l.heldSteps.Unacknowledged() >= limit
	if l.draining || l.full {
		return 0
	}
	return l.prefetch.credits(l.options.Concurrency - l.pool.stuck)
}

func earliest(one, other time.Time) time.Time {
	if other.Before(one) {
		return other
	}
	return one
}
