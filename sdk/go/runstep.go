package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

// RunStep runs one step document against a handler, without sockets, and returns the result document. Fields that
// the document lacks are filled in; its timeout is enforced; lines and progress go to stderr. The error is about the
// document only: a failure of the handler is in the result.
func RunStep(handler Handler, document []byte) ([]byte, error) {
	filled, err := fillIn(document)
	if err != nil {
		return nil, err
	}
	step, err := wire.DecodeStep(filled)
	if err != nil {
		return nil, err
	}
	registry := NewRegistry()
	registry.Handle(step.HandlerClass, handler)
	return json.Marshal(newJob(context.Background(), step, registry, stderr{}).run())
}

func fillIn(document []byte) ([]byte, error) {
	fields := map[string]json.RawMessage{
		"step_id": json.RawMessage(`"1"`), "task_id": json.RawMessage(`"1"`), "step_name": json.RawMessage(`"step"`),
		"handler_class": json.RawMessage(`"handler"`), "metadata": json.RawMessage(`{}`),
	}
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	metadata := map[string]json.RawMessage{"token": json.RawMessage(`"1.1"`)}
	if err := json.Unmarshal(fields["metadata"], &metadata); err != nil {
		return nil, fmt.Errorf("step.metadata: %w", err)
	}
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	fields["metadata"] = encoded
	return json.Marshal(fields)
}

type stderr struct{}

func (stderr) onLine(_, _, text string) { fmt.Fprintln(os.Stderr, text) }

func (stderr) onProgress(progress *wire.Progress) {
	if progress.Total != nil {
		fmt.Fprintf(os.Stderr, "%g of %g %s\n", progress.Done, *progress.Total, progress.Message)
		return
	}
	fmt.Fprintf(os.Stderr, "%g %s\n", progress.Done, progress.Message)
}
