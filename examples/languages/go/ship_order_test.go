package main

import (
	"encoding/json"
	"strings"
	"testing"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

const paid = `{"handler_config": {"carrier": "sea"}, "metadata": {"args": {
	"order": {"order_id": 7}, "payment": {"transaction_id": "t"}, "label": {"tracking_number": "TN7"}}}}`

type result struct {
	Status string
	Output struct {
		TrackingNumber string `json:"tracking_number"`
	}
	Error    *struct{ Message string }
	Metadata struct {
		Retryable  bool
		RetryAfter int `json:"retry_after_ms"`
	}
}

func ship(t *testing.T, document string) (shipped result) {
	t.Helper()
	answer, err := worker.RunStep(shipOrder, []byte(document))
	if err == nil {
		err = json.Unmarshal(answer, &shipped)
	}
	if err != nil {
		t.Fatal(err)
	}
	return shipped
}

func TestItShips(t *testing.T) {
	if shipped := ship(t, paid); shipped.Output.TrackingNumber != "TN7" {
		t.Errorf("%+v", shipped)
	}
}

func TestItDoesNotShipWhatIsNotPaid(t *testing.T) {
	shipped := ship(t, strings.Replace(paid, `"t"`, `""`, 1))
	if shipped.Status != "failed" || shipped.Error.Message != "not paid" || shipped.Metadata.Retryable {
		t.Errorf("%+v", shipped)
	}
}

func TestAFullVanIsTriedAgainLater(t *testing.T) {
	shipped := ship(t, strings.Replace(paid, "7", "8", 1))
	if shipped.Status != "failed" || shipped.Metadata.RetryAfter != 200 {
		t.Errorf("%+v", shipped)
	}
}
