package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

func shipOrder(_ context.Context, step *worker.Step) (any, error) {
	var order struct {
		ID int `json:"order_id"`
	}
	if err := step.DecodeContext(&order); err != nil {
		return nil, worker.Permanent(err)
	}
	if order.ID == 0 {
		return nil, worker.Permanent(errors.New("there is no order"))
	}
	return map[string]any{"tracking_number": fmt.Sprintf("1Z%d", order.ID)}, nil
}

func ExampleRunStep() {
	result, err := worker.RunStep(shipOrder, []byte(`{"task_context": {"order_id": 7}}`))
	if err != nil {
		panic(err)
	}
	var shipped struct {
		Status string
		Output map[string]string
	}
	if err := json.Unmarshal(result, &shipped); err != nil {
		panic(err)
	}
	fmt.Println(shipped.Status, shipped.Output["tracking_number"])
	// Output: completed 1Z7
}
