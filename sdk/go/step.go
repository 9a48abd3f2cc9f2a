package worker

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

// Step is the argument of a handler: one attempt of one step, with methods for progress and log lines.
type Step struct {
	ID, Name, HandlerClass string
	TaskID                 string // the run
	Workflow, TaskName     string

	Config   json.RawMessage            // the handler's own settings
	Context  json.RawMessage            // the input of the run
	Previous map[string]json.RawMessage // outputs of the steps that this one depends on
	Args     json.RawMessage            // arguments by name
	// Positional are arguments without names.
	Positional []json.RawMessage

	Token               string // the unique id of this attempt: a fencing token
	Attempt, RetryLimit int    // Attempt 0 is the first
	// IdempotencyKey is the same for all attempts of this step: pass it to services that support such keys.
	IdempotencyKey string
	// Traceparent is the header of W3C Trace Context for requests of the handler; empty unless telemetry is on.
	Traceparent string
	Saved       json.RawMessage // the value that an earlier attempt saved with Defer; empty if none
	Shadow      bool            // a copy whose result is only compared: it must have no side effects
	Index       *int64          // of an item of a mapped task
	Labels      map[string]string

	listener listener
}

// listener receives lines and progress of handlers; any goroutine may call it.
type listener interface {
	onLine(token, stream, text string)
	onProgress(progress *wire.Progress)
}

func newStep(document *wire.Step, listener listener) *Step {
	metadata := &document.Metadata
	return &Step{
		ID: document.StepID, Name: document.StepName, HandlerClass: document.HandlerClass, TaskID: document.TaskID,
		Workflow: metadata.Workflow, TaskName: metadata.TaskName,
		Config: orElse(document.HandlerConfig, "{}"), Context: orElse(document.TaskContext, "{}"),
		Previous: document.PreviousResults, Args: orElse(metadata.Args, "{}"), Positional: metadata.Positional,
		Token: metadata.Token, Attempt: metadata.Attempt, RetryLimit: metadata.RetryLimit,
		IdempotencyKey: metadata.IdempotencyKey, Saved: metadata.Saved, Shadow: metadata.Shadow, Index: metadata.Index,
		Labels: metadata.Labels, Traceparent: metadata.Traceparent, listener: listener,
	}
}

// Decode reads the arguments by name into a struct or map.
func (s *Step) Decode(args any) error { return read("metadata.args", s.Args, args) }

// DecodeConfig reads the handler's own settings.
func (s *Step) DecodeConfig(config any) error { return read("handler_config", s.Config, config) }

// DecodeContext reads the input of the run.
func (s *Step) DecodeContext(context any) error { return read("task_context", s.Context, context) }

// DecodePrevious reads the output of a step that this one depends on.
func (s *Step) DecodePrevious(name string, output any) error {
	found, ok := s.Previous[name]
	if !ok {
		return fmt.Errorf("there is no result of a step %q: this step does not depend on it", name)
	}
	return read("previous_results."+name, found, output)
}

// Logf adds a line, or several, to the run's log.
func (s *Step) Logf(format string, values ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, values...), "\n")
	for _, line := range strings.Split(text, "\n") {
		s.listener.onLine(s.Token, "log", line)
	}
}

// Progress reports progress, which is shown to people and not stored; a total of 0 is unknown.
func (s *Step) Progress(done, total float64, message string) {
	progress := &wire.Progress{Token: s.Token, Done: done, Message: message}
	if total != 0 {
		progress.Total = &total
	}
	s.listener.onProgress(progress)
}

func read(what string, raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func orElse(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	return raw
}
