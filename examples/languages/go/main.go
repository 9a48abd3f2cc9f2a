// A worker for the machine with the graphics card: it draws labels, and ships.
package main

import (
	"context"
	"log"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

func main() {
	worker.Handle("OrderFulfillment::DrawLabel", drawLabel, worker.Version("1.4"))
	worker.Handle("OrderFulfillment::ShipOrder", shipOrder, worker.Version("1.0"))
	if err := worker.Run(context.Background(), worker.Options{}); err != nil {
		log.Fatal(err)
	}
}
