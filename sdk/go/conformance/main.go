// Command conformance is the worker program of turnout conformance.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

func echo(_ context.Context, step *worker.Step) (any, error) {
	return map[string]any{
		"args": step.Args, "positional": append([]json.RawMessage{}, step.Positional...), "config": step.Config,
		"context": step.Context, "previous": step.Previous,
	}, nil
}

func wait(ctx context.Context, milliseconds int64) error {
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func sleep(ctx context.Context, step *worker.Step) (any, error) {
	var config struct{ MS int64 }
	if err := step.DecodeConfig(&config); err != nil {
		return nil, err
	}
	return "slept", wait(ctx, config.MS)
}

func say(ctx context.Context, step *worker.Step) (any, error) {
	var config struct {
		Lines []string
		MS    *int64
	}
	if err := step.DecodeConfig(&config); err != nil {
		return nil, err
	}
	for _, line := range config.Lines {
		step.Logf("%s", line)
	}
	if config.MS != nil {
		return len(config.Lines), wait(ctx, *config.MS)
	}
	return len(config.Lines), nil
}

func large(_ context.Context, step *worker.Step) (any, error) {
	var config struct{ Size int }
	if err := step.DecodeConfig(&config); err != nil {
		return nil, err
	}
	return strings.Repeat("x", config.Size), nil
}

func progress(_ context.Context, step *worker.Step) (any, error) {
	step.Progress(1, 2, "")
	step.Progress(2, 2, "")
	return nil, nil
}

func appendToken(_ context.Context, step *worker.Step) (any, error) {
	var config struct{ File string }
	if err := step.DecodeConfig(&config); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(config.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, step.Token)
	return nil, err
}

func failing(err error) worker.Handler {
	return func(context.Context, *worker.Step) (any, error) { return nil, err }
}

func main() {
	worker.Handle("conformance.echo", echo)
	worker.Handle("conformance.fail", failing(errors.New("failed on purpose")))
	worker.Handle("conformance.fail_permanently", failing(worker.Permanent(errors.New("never again"))))
	worker.Handle("conformance.retry_after", failing(worker.RetryAfter(1500*time.Millisecond, errors.New("later"))))
	worker.Handle("conformance.sleep", sleep)
	worker.Handle("conformance.say", say)
	worker.Handle("conformance.progress", progress)
	worker.Handle("conformance.append", appendToken)
	worker.Handle("conformance.large", large)
	if err := worker.Run(context.Background(), worker.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
