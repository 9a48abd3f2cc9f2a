package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

// The longest stack trace in a result, in lines.
const maxTraceLines = 40

// job is one step and its handler: it runs once, in the goroutine that calls run, and may be stopped from another.
type job struct {
	document *wire.Step
	registry *Registry
	listener listener
	ctx      context.Context
	cancel   context.CancelFunc
	reason   atomic.Value // why it was stopped, text
}

func newJob(parent context.Context, document *wire.Step, registry *Registry, listener listener) *job {
	j := &job{document: document, registry: registry, listener: listener}
	if limit, ok := document.Timeout(); ok {
		j.ctx, j.cancel = context.WithTimeout(parent, limit)
	} else {
		j.ctx, j.cancel = context.WithCancel(parent)
	}
	return j
}

func (j *job) token() string { return j.document.Metadata.Token }

// stop ends the context of the handler: its result is not needed any more.
func (j *job) stop(reason string) {
	j.reason.CompareAndSwap(nil, reason)
	j.cancel()
}

// run runs the handler and returns its result.
func (j *job) run() *wire.Result {
	defer j.cancel()
	found, ok := j.registry.find(j.document.HandlerClass)
	if !ok {
		return wire.Unable(j.document, wire.HandlerMissing, "there is no handler "+j.document.HandlerClass+" here")
	}
	began := time.Now()
	result := j.ended(j.call(found.handler))
	took := float64(time.Since(began).Microseconds()) / 1000
	result.Metadata.ExecutionTimeMS = &took
	result.Metadata.HandlerVersion = found.version
	return result
}

// call runs the handler in a goroutine of its own, so that one which ends its goroutine does not occupy a slot.
func (j *job) call(handler Handler) (result *wire.Result) {
	answer := make(chan *wire.Result, 1)
	go func() {
		result := j.failed(errors.New("the handler ended its goroutine"), nil)
		defer func() {
			if thrown := recover(); thrown != nil {
				result = j.failed(&panicError{thrown}, stack())
			}
			answer <- result
		}()
		output, err := handler(j.ctx, newStep(j.document, j.listener))
		if err != nil {
			result = j.refused(err)
		} else {
			result = j.completed(output)
		}
	}()
	return <-answer
}

// ended returns the result of the job. A stop counts also if the handler has returned: its result is not needed.
func (j *job) ended(result *wire.Result) *wire.Result {
	if outcome, reason := j.stopped(); outcome != "" {
		return wire.Unable(j.document, outcome, reason)
	}
	return result
}

// stopped returns outcome and reason of a job whose context is over. The clock is checked as well: on a busy machine a
// context may end late.
func (j *job) stopped() (outcome, reason string) {
	if j.ctx.Err() == context.Canceled {
		reason, _ = j.reason.Load().(string)
		return wire.Cancelled, reason
	}
	if deadline, limited := j.ctx.Deadline(); limited && !time.Now().Before(deadline) {
		return wire.TimedOut, fmt.Sprintf("not done after %d ms", *j.document.Metadata.TimeoutMS)
	}
	return "", ""
}

func (j *job) completed(output any) *wire.Result {
	var chosen *[]string
	switch branch := output.(type) {
	case Branch:
		output, chosen = branch.Output, namesOf(branch.Chosen)
	case *Branch:
		output, chosen = branch.Output, namesOf(branch.Chosen)
	}
	encoded, err := plain(output)
	if err != nil {
		return j.refused(Permanent(&notJSONError{fmt.Errorf("the handler returned what is no JSON: %w", err)}))
	}
	result := wire.Completed(j.document, encoded)
	result.Metadata.Chosen = chosen
	return result
}

func (j *job) refused(err error) *wire.Result {
	var permanent *permanentError
	var later *retryAfterError
	var deferred *deferError
	switch {
	case errors.As(err, &deferred):
		return j.deferred(deferred)
	case errors.As(err, &permanent):
		result := j.failed(err, nil)
		result.Metadata.Retryable = false
		return result
	case errors.As(err, &later):
		result := j.failed(err, nil)
		pause := int64(math.Ceil(float64(later.pause) / float64(time.Millisecond)))
		result.Metadata.RetryAfterMS = &pause
		return result
	}
	return j.failed(err, nil)
}

func (j *job) deferred(err *deferError) *wire.Result {
	deferral, notEncodable := plain(map[string]any{"seconds": err.pause.Seconds(), "saved": err.saved})
	if notEncodable != nil {
		return j.refused(Permanent(&notJSONError{fmt.Errorf("what was to be saved is no JSON: %w", notEncodable)}))
	}
	result := wire.Unable(j.document, wire.Deferred, err.Error())
	result.Metadata.Deferral = deferral
	return result
}

func (j *job) failed(err error, backtrace []string) *wire.Result {
	return wire.Failed(j.document, wire.StepError{
		Type: typeOf(err), Message: err.Error(), Backtrace: backtrace, MRO: typesOf(err),
	})
}

// typesOf returns the types of an error and of those that it wraps: a task's retry_on and never_on are compared with all of
// them.
func typesOf(err error) []string {
	var names []string
	for ; err != nil; err = errors.Unwrap(err) {
		if name := typeOf(err); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// typeOf returns the type of an error without the wrappers of this package.
func typeOf(err error) string {
	switch wrapped := err.(type) {
	case *permanentError:
		return typeOf(wrapped.error)
	case *retryAfterError:
		return typeOf(wrapped.error)
	case *notJSONError:
		return "NotJson"
	case *panicError:
		return "panic"
	}
	return fmt.Sprintf("%T", err)
}

type panicError struct{ thrown any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.thrown) }

func stack() []string {
	lines := strings.Split(strings.TrimSpace(string(debug.Stack())), "\n")
	if len(lines) > maxTraceLines {
		lines = lines[:maxTraceLines]
	}
	return lines
}

func namesOf(chosen []string) *[]string {
	names := append([]string{}, chosen...)
	return &names
}
