package worker

import (
	"errors"
	"fmt"
	"time"
)

// ErrStopped is returned by Run when it was stopped a second time, or the grace period was over, before everything was done.
var ErrStopped = errors.New("turnout: stopped before everything was done")

// RefusedError is returned by Run when every hub refuses this worker.
type RefusedError struct{ Hub, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("turnout: hub %s refuses this worker: %s", e.Hub, e.Reason)
}

// notJSONError is the error of a value that is not JSON.
type notJSONError struct{ error }

func (e *notJSONError) Unwrap() error { return e.error }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Permanent marks an error that is not retried.
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

// Defer frees the slot and runs the step again from the top after the pause, with saved in Step.Saved. It uses up no
// retry.
func Defer(pause time.Duration, saved any) error { return &deferError{pause, saved} }

// Branch is what a step returns that chooses: its output, and the names of the dependents that run.
type Branch struct {
	Output any
	Chosen []string
}
