package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

type shipment struct {
	Order struct {
		ID int `json:"order_id"`
	}
	Payment struct {
		TransactionID string `json:"transaction_id"`
	}
	Label struct {
		TrackingNumber string `json:"tracking_number"`
	}
}

func shipOrder(_ context.Context, step *worker.Step) (any, error) {
	var args shipment
	if err := step.Decode(&args); err != nil {
		return nil, worker.Permanent(err)
	}
	var config struct{ Carrier string }
	if err := step.DecodeConfig(&config); err != nil {
		return nil, worker.Permanent(err)
	}
	if args.Payment.TransactionID == "" {
		return nil, worker.Permanent(errors.New("not paid"))
	}
	if args.Order.ID%4 == 0 && step.Attempt == 0 {
		return nil, worker.RetryAfter(200*time.Millisecond, errors.New("the van is full"))
	}
	step.Logf("order %d goes with %s", args.Order.ID, config.Carrier)
	return map[string]any{"tracking_number": args.Label.TrackingNumber, "by": runtime.Version()}, nil
}
