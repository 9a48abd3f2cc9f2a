package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

type outcome struct {
	Status string
	Output any
	Error  *wire.StepError

	Metadata struct {
		Token        string
		Retryable    bool
		Outcome      string
		RetryAfterMS int64 `json:"retry_after_ms"`
		Deferral     map[string]any
		Chosen       []string
	}
}

func runStep(t *testing.T, handler Handler, document string) outcome {
	t.Helper()
	result, err := RunStep(handler, []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var found outcome
	if err := json.Unmarshal(result, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func returning(output any, err error) Handler {
	return func(context.Context, *Step) (any, error) { return output, err }
}

func TestHowAHandlerEndsIsHowItsStepEnds(t *testing.T) {
	oops := errors.New("oops")
	for name, each := range map[string]struct {
		handler               Handler
		status, message, kind string
		retryable             bool
		retryAfter            int64
	}{
		"a value":      {returning(7, nil), "completed", "", "", true, 0},
		"an error":     {returning(nil, oops), "failed", "oops", "*errors.errorString", true, 0},
		"a permanent":  {returning(nil, Permanent(oops)), "failed", "oops", "*errors.errorString", false, 0},
		"a later":      {returning(nil, RetryAfter(1500*time.Millisecond, oops)), "failed", "oops", "*errors.errorString", true, 1500},
		"a later, nil": {returning(nil, RetryAfter(time.Microsecond, nil)), "failed", "later", "*errors.errorString", true, 1},
		"no JSON": {
			returning(math.NaN(), nil), "failed",
			"the handler returned what is no JSON: json: unsupported value: NaN", "NotJson", false, 0,
		},
		"a panic": {
			func(context.Context, *Step) (any, error) { panic("burst") }, "failed", "panic: burst", "panic", true, 0,
		},
		"the end of its goroutine": {
			func(context.Context, *Step) (any, error) { runtime.Goexit(); return nil, nil }, "failed",
			"the handler ended its goroutine", "*errors.errorString", true, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := runStep(t, each.handler, `{}`)
			if found.Error == nil {
				found.Error = &wire.StepError{}
			}
			if found.Status != each.status || found.Error.Message != each.message || found.Error.Type != each.kind {
				t.Errorf("%s %+v", found.Status, found.Error)
			}
			if found.Metadata.Retryable != each.retryable || found.Metadata.RetryAfterMS != each.retryAfter {
				t.Errorf("%+v", found.Metadata)
			}
		})
	}
}

func TestAPanicCarriesItsStack(t *testing.T) {
	found := runStep(t, func(context.Context, *Step) (any, error) { panic("burst") }, `{}`)
	if !strings.Contains(strings.Join(found.Error.Backtrace, "\n"), "TestAPanicCarriesItsStack") {
		t.Errorf("%v", found.Error.Backtrace)
	}
}

func TestDeferKeepsWhatWasSaved(t *testing.T) {
	found := runStep(t, returning(nil, Defer(90*time.Second, map[string]int{"page": 3})), `{}`)
	expected := map[string]any{"seconds": 90.0, "saved": map[string]any{"page": 3.0}}
	if found.Metadata.Outcome != "deferred" || !reflect.DeepEqual(found.Metadata.Deferral, expected) {
		t.Errorf("%+v", found.Metadata)
	}
}

func TestABranchNamesTheDependentsThatRun(t *testing.T) {
	found := runStep(t, returning(Branch{Output: "big", Chosen: []string{"review"}}, nil), `{}`)
	if found.Output != "big" || !reflect.DeepEqual(found.Metadata.Chosen, []string{"review"}) {
		t.Errorf("%+v", found)
	}
}

func TestTheTimeoutEndsTheContextAndCountsWhateverTheHandlerReturns(t *testing.T) {
	handler := func(ctx context.Context, _ *Step) (any, error) {
		<-ctx.Done()
		return "all the same", nil
	}
	found := runStep(t, handler, `{"metadata":{"timeout_ms":1}}`)
	if found.Status != "failed" || found.Metadata.Outcome != "timed_out" || found.Error.Message != "not done after 1 ms" {
		t.Errorf("%+v %+v", found, found.Error)
	}
}

func TestAHandlerReadsItsStep(t *testing.T) {
	handler := func(_ context.Context, step *Step) (any, error) {
		var args struct{ Order int64 }
		var context struct{ Customer string }
		var paid bool
		for _, err := range []error{step.Decode(&args), step.DecodeContext(&context), step.DecodePrevious("pay", &paid)} {
			if err != nil {
				return nil, err
			}
		}
		step.Logf("order %d\nof %s", args.Order, context.Customer)
		step.Progress(1, 0, "")
		return []any{args.Order, context.Customer, paid, step.Attempt, step.IdempotencyKey}, step.DecodeConfig(&args)
	}
	found := runStep(t, handler, `{"task_context":{"customer":"Ada"},"previous_results":{"pay":true},
		"metadata":{"token":"7.2","attempt":1,"idempotency_key":"k","args":{"order":9007199254740993}}}`)
	expected := []any{9007199254740993.0, "Ada", true, 1.0, "k"}
	if !reflect.DeepEqual(found.Output, expected) || found.Metadata.Token != "7.2" {
		t.Errorf("%+v", found)
	}
}

func TestAResultThatIsNotThereIsNamed(t *testing.T) {
	handler := func(_ context.Context, step *Step) (any, error) { return nil, step.DecodePrevious("pay", nil) }
	found := runStep(t, handler, `{}`)
	if !strings.Contains(found.Error.Message, `"pay"`) {
		t.Errorf("%+v", found.Error)
	}
}

func TestADocumentThatIsNoStepIsAnError(t *testing.T) {
	for _, document := range []string{`[]`, `{"metadata":7}`, `{"step_id":7}`, `{"handler_config":[]}`, `{"metadata":{"args":[]}}`} {
		if _, err := RunStep(returning(nil, nil), []byte(document)); err == nil {
			t.Errorf("%s was taken", document)
		}
	}
}

func TestAHandlerForAnyNameAnswersWhenNoOtherDoes(t *testing.T) {
	registry := NewRegistry()
	registry.Handle("one", returning(1, nil))
	registry.Handle(AnyHandler, returning(2, nil))
	for name, expected := range map[string]string{"one": "1", "two": "2"} {
		document := &wire.Step{HandlerClass: name}
		if found := newJob(context.Background(), document, registry, stderr{}).run(); string(found.Output) != expected {
			t.Errorf("%s: %s", name, found.Output)
		}
	}
	if names := registry.names(); !reflect.DeepEqual(names, []string{"*"}) {
		t.Errorf("%v", names)
	}
}

func TestANameIsRegisteredOnce(t *testing.T) {
	registry := NewRegistry()
	registry.Handle("one", returning(1, nil))
	defer func() {
		if recover() == nil {
			t.Error("it was taken twice")
		}
	}()
	registry.Handle("one", returning(2, nil))
}

func TestTheTypesOfAnErrorAreTold(t *testing.T) {
	declined := fmt.Errorf("paying: %w", Permanent(&strconv.NumError{Func: "pay", Num: "1", Err: strconv.ErrRange}))
	result, err := RunStep(returning(nil, declined), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	var failed struct{ Error struct{ MRO []string } }
	if err := json.Unmarshal(result, &failed); err != nil {
		t.Fatal(err)
	}
	expected := []string{"*fmt.wrapError", "*strconv.NumError", "*errors.errorString"}
	if !reflect.DeepEqual(failed.Error.MRO, expected) {
		t.Errorf("%v", failed.Error.MRO)
	}
}
