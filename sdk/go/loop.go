package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	// Steps that are held for each place, so that the next one is there when a place becomes free.
	heldPerPlace = 2
	// Lines, progress and results that wait to be taken in; handlers that say more wait.
	mostSaid    = 10_000
	byePatience = time.Second
	longestWait = time.Minute
	// With so many results that no hub has acknowledged, nothing more is asked for until half of them are.
	mostUnacknowledged = 1_000
)

// event is what a handler has to say: a result, progress, or else a line.
type event struct {
	token, stream, text string
	result              *wire.Result
	progress            *wire.Progress
}

// loop owns the sockets and everything that is in hand; one goroutine, on one OS thread, runs it. Handlers hand in what
// they have through a channel and a pipe.
type loop struct {
	options     Options
	base        context.Context // of handlers
	holdings    *wire.Holdings
	connections *connections
	pool        *pool
	inbox       chan event
	wakeup      *wakeup
	over        chan struct{}
	stops       int32
	numbered    int64
	deadline    time.Time // when something in here has to be looked at again
	free        int       // places that nobody has been chosen for in this turn
	full        bool      // of results that nobody has acknowledged
	draining    bool
	stopBy      time.Time // when it ends at the latest, once it drains
	left        time.Time // when it said bye
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
		options: options, base: base, holdings: wire.NewHoldings(), inbox: make(chan event, mostSaid), wakeup: wakeup,
		over: make(chan struct{}), stopBy: wire.Later,
	}
	l.pool = newPool(options.Concurrency, options.KillGrace, func(token string, result *wire.Result) {
		l.post(event{token: token, result: result})
	})
	l.connections = newConnections(
		func() *wire.Link {
			return wire.NewLink(hello, l.holdings, l.places(), l.nextNumber, func(each *wire.Holding) bool {
				return l.connections.linkOf(each.Hub) == nil
			})
		},
		func(address string) (*dealer, error) { return dial(context, address, options) },
		options.Logger,
	)
	l.connections.discover = !options.NoDiscover
	for _, address := range options.Connect {
		l.connections.add(address, false)
	}
	l.connections.divide(l.places())
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
		if err := l.turn(time.Now()); err != nil {
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

func (l *loop) turn(now time.Time) error {
	l.wakeup.clear()
	l.takeInbox()
	for _, each := range l.connections.all() {
		if err := each.turn(now); err != nil {
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
		l.giveUp(stuck)
	}
	l.connections.seen(now)
	l.connections.divide(l.places())
	l.beginWhatMay(now)
	if l.draining {
		l.leave(now)
	}
	for _, each := range l.connections.all() {
		each.flush(now)
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
	due := earliest(earliest(l.pool.nextDue(), l.deadline), l.stopBy)
	for _, each := range l.connections.list {
		due = earliest(due, each.nextDue())
	}
	pause := time.Until(due)
	if pause < 0 {
		pause = 0
	}
	if pause > longestWait {
		pause = longestWait
	}
	return zmq.Poll(l.connections.sockets(), l.wakeup.read, pause)
}

func (l *loop) post(said event) {
	select {
	case l.inbox <- said:
		l.wakeup.signal()
	case <-l.over:
	}
}

func (l *loop) said(token, stream, text string) {
	l.post(event{token: token, stream: stream, text: text})
}

func (l *loop) progressed(progress *wire.Progress) {
	l.post(event{token: progress.Token, progress: progress})
}

func (l *loop) takeInbox() {
	for count := len(l.inbox); count > 0; count-- {
		said := <-l.inbox
		switch {
		case said.result != nil:
			l.pool.release(said.token)
			l.holdings.Finish(said.token, said.result)
		case said.progress != nil:
			if holding := l.holdings.Get(said.token); holding != nil {
				if link := l.connections.linkOf(holding.Hub); link != nil {
					link.Progress(said.progress)
				}
			}
		default:
			l.holdings.Say(said.token, said.stream, said.text)
		}
	}
}

func (l *loop) nextNumber() int64 {
	l.numbered++
	return l.numbered
}

// places is how many steps all hubs together may give.
func (l *loop) places() int {
	limit := mostUnacknowledged
	if l.full {
		limit /= 2
	}
	l.full = len(l.holdings.Select(func(each *wire.Holding) bool { return each.State == wire.Done })) >= limit
	if l.draining || l.full {
		return 0
	}
	return heldPerPlace * (l.options.Concurrency - l.pool.stuck)
}

func earliest(one, other time.Time) time.Time {
	if other.Before(one) {
		return other
	}
	return one
}
