// The handler of the fault tests in Go.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand"
	"os"
	"time"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

func main() {
	file, err := os.OpenFile(os.Getenv("TURNOUT_FAULTS_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	note := func(what string, step *worker.Step) {
		line := fmt.Sprintf("%s %s %d go %d\n", what, step.Token, step.Attempt, os.Getpid())
		if _, err := file.WriteString(line); err != nil {
			log.Fatal(err)
		}
	}
	say := func(_ context.Context, step *worker.Step) (any, error) {
		var args struct {
			Text    string
			Seconds float64
		}
		if err := step.Decode(&args); err != nil {
			return nil, worker.Permanent(err)
		}
		note("begin", step)
		time.Sleep(time.Duration(rand.Float64() * args.Seconds * float64(time.Second)))
		note("end", step)
		return args.Text + ">" + step.Name, nil
	}
	worker.Handle("elsewhere.any", say)
	worker.Handle("elsewhere.go", say)
	worker.Handle("elsewhere.trace", func(_ context.Context, step *worker.Step) (any, error) {
		return step.Traceparent, nil
	})
	if err := worker.Run(context.Background(), worker.Options{}); err != nil {
		log.Fatal(err)
	}
}
