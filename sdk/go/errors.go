package worker

import (
	"errors"
	"fmt"
	"time"
)

// ErrStopped is returned by Run when it was told to stop a second time, or its grace was over, before everything was done.
var ErrStopped = errors.New("turnout: stopped before everything was done")

// RefusedError is returned by Run when no hub wants this worker.
type RefusedError struct{ Hub, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("turnout: hub %s refuses this worker: %s", e.Hub, e.Reason)
}

// notJSONError is about a value that cannot travel.
type notJSONError struct{ error }

func (e *notJSONError) Unwrap() error { return e.error }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Permanent says that another attempt would not help.
func Permanent(err error) error {
	if err == nil {
		err = errors.New("failed for good")
	}
	return &permanentError{err}
}

type retryAfterError struct {
	error
	pause time.Duration
}

func (e *retryAfterError) Unwrap() error { return e.error }

// RetryAfter asks for another attempt, but not before the pause is over.
func RetryAfter(pause time.Duration, err error) error {
	if err == nil {
		err = errors.New("later")
	}
	return &retryAfterError{err, pause}
}

type deferError struct {
	pause time.Duration
	saved any
}

func (e *deferError) Error() string { return fmt.Sprintf("deferred for %s", e.pause) }

// Defer gives the place free and runs the step again from the top after the pause; saved is in Step.Saved then. It
// costs no attempt.
func Defer(pause time.Duration, saved any) error { return &deferError{pause, saved} }

// Branch is what a step returns that chooses: its output, and the names of the dependents that run.
type Branch struct {
	Output any
	Chosen []string
}
