package worker

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

// Run runs a worker until it is stopped. When ctx ends, or at SIGTERM or SIGINT, it drains: it takes no more steps, returns
// what has not begun, finishes what runs, and returns nil once every result is acknowledged. If that takes longer than
// Options.Grace, or at a signal after that, it reports the rest as lost and returns ErrStopped. If every hub refuses
// this worker the error is a *RefusedError.
//
// The contexts of handlers have the values of ctx but do not end with it.
func Run(ctx context.Context, options Options) error {
	options, err := options.resolve(processEnvironment)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sockets, err := zmq.NewContext()
	if err != nil {
		return err
	}
	defer sockets.Close()
	loop, err := newLoop(detached{ctx}, options, sockets)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	if !options.NoSignals {
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(signals)
	}
	go forwardStops(ctx, signals, loop)
	options.Logger.Printf("worker %s: %d handlers, %d at once, hubs %s",
		options.Name, len(options.Registry.names()), options.Concurrency, strings.Join(options.Connect, ", "))
	return loop.run()
}

// forwardStops stops the loop when ctx ends and at each signal, until the loop is over.
func forwardStops(ctx context.Context, signals <-chan os.Signal, loop *loop) {
	done := ctx.Done()
	for {
		select {
		case <-signals:
			loop.stop()
		case <-done:
			done = nil
			loop.stop()
		case <-loop.over:
			return
		}
	}
}

// detached has the values of a context and never ends.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }
