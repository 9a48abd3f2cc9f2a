package wire

import (
	"encoding/json"
	"time"
)

// Metadata identifies one attempt and limits its time.
type Metadata struct {
	Token          string            `json:"token" wire:"required"`
	Attempt        int               `json:"attempt"`
	RetryLimit     int               `json:"retry_limit"`
	Failures       int               `json:"failures"`
	TimeoutMS      *int64            `json:"timeout_ms"`
	DeadlineMS     *int64            `json:"deadline_ms"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Args           json.RawMessage   `json:"args,omitempty" wire:"object"`
	Positional     []json.RawMessage `json:"positional,omitempty"`
	ConfirmStart   bool              `json:"confirm_start"`
	TaskName       string            `json:"task_name,omitempty"`
	Workflow       string            `json:"workflow,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Shadow         bool              `json:"shadow"`
	Index          *int64            `json:"index,omitempty"`
	Saved          json.RawMessage   `json:"saved,omitempty"`
	Context        json.RawMessage   `json:"context,omitempty" wire:"object or null"`
	Traceparent    string            `json:"traceparent,omitempty"`
}

// Step is a step document. Values for the handler stay JSON until the handler decodes them.
type Step struct {
	StepID          string                     `json:"step_id" wire:"required"`
	TaskID          string                     `json:"task_id" wire:"required"`
	StepName        string                     `json:"step_name" wire:"required"`
	HandlerClass    string                     `json:"handler_class" wire:"required"`
	HandlerConfig   json.RawMessage            `json:"handler_config,omitempty" wire:"object"`
	TaskContext     json.RawMessage            `json:"task_context,omitempty"`
	PreviousResults map[string]json.RawMessage `json:"previous_results"`
	Metadata        Metadata                   `json:"metadata" wire:"required"`
}

// Timeout returns the time that the handler may take, if there is a limit.
func (s *Step) Timeout() (time.Duration, bool) {
	if s.Metadata.TimeoutMS == nil {
		return 0, false
	}
	return milliseconds(*s.Metadata.TimeoutMS), true
}

// Steps is a batch of steps for a worker.
type Steps struct {
	BatchID         string `json:"batch_id" wire:"required"`
	ProtocolVersion string `json:"protocol_version" wire:"required"`
	Steps           []Step `json:"steps" wire:"required"`
}

// StepError is the reason for which a step did not complete.
type StepError struct {
	Type      string   `json:"type,omitempty"`
	Message   string   `json:"message" wire:"required"`
	Backtrace []string `json:"backtrace,omitempty"`
	MRO       []string `json:"mro,omitempty"` // names of the error's types, most specific first
}

// ResultMetadata describes the end of an attempt.
type ResultMetadata struct {
	Token           string          `json:"token" wire:"required"`
	Attempt         int             `json:"attempt"`
	ExecutionTimeMS *float64        `json:"execution_time_ms,omitempty"`
	HandlerVersion  string          `json:"handler_version,omitempty"`
	Retryable       bool            `json:"retryable" wire:"true"`
	Outcome         string          `json:"outcome,omitempty"`
	RetryAfterMS    *int64          `json:"retry_after_ms,omitempty"`
	Deferral        json.RawMessage `json:"deferral,omitempty"`
	Chosen          *[]string       `json:"chosen,omitempty"`
}

// Result is the result document of a step.
type Result struct {
	StepID   string          `json:"step_id" wire:"required"`
	Status   string          `json:"status" wire:"required"`
	Output   json.RawMessage `json:"output"`
	Error    *StepError      `json:"error"`
	Metadata ResultMetadata  `json:"metadata" wire:"required"`
}

// Results are results of steps of one batch.
type Results struct {
	BatchID         string   `json:"batch_id" wire:"required"`
	ProtocolVersion string   `json:"protocol_version" wire:"required"`
	Results         []Result `json:"results" wire:"required"`
}

// The outcomes of steps whose handlers did not return a result.
const (
	TimedOut       = "timed_out"
	Cancelled      = "cancelled"
	Deferred       = "deferred"
	Returned       = "returned"
	Crashed        = "crashed"
	Lost           = "lost"
	HandlerMissing = "handler_missing"
)

// Completed returns the result of a handler that returned output.
func Completed(step *Step, output json.RawMessage) *Result {
	result := ended(step, "completed")
	result.Output = output
	return result
}

// Failed returns the result of a handler that failed.
func Failed(step *Step, reason StepError) *Result {
	result := ended(step, "failed")
	result.Error = &reason
	return result
}

// Unable returns the result of a step whose handler was not called, or did not return.
func Unable(step *Step, outcome, reason string) *Result {
	status := "error"
	switch outcome {
	case TimedOut, Cancelled, Deferred:
		status = "failed"
	}
	result := ended(step, status)
	result.Error = &StepError{Type: outcome, Message: reason}
	result.Metadata.Outcome = outcome
	return result
}

func ended(step *Step, status string) *Result {
	metadata := ResultMetadata{Token: step.Metadata.Token, Attempt: step.Metadata.Attempt, Retryable: true}
	return &Result{StepID: step.StepID, Status: status, Metadata: metadata}
}
