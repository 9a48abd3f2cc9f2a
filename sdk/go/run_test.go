package worker

import (
	"context"
	"errors"
	"log"
	"strings"
	"testing"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

func TestAWorkerRunsAStepAndDrainsWhenItsContextEnds(t *testing.T) {
	hub := employ(t, map[string]Handler{"seven": returning(7, nil)})
	hello := expect[*wire.Hello](hub)
	if hello.Credits != 2 || hello.Handlers[0] != "seven" || hello.Labels["zone"] != "a" || hello.Language != "go" {
		t.Errorf("%+v", hello)
	}
	hub.welcome(hello.Seq)
	hub.give("1.1", "seven", nil)
	expect[*wire.Received](hub)
	result := expect[*wire.Results](hub).Results[0]
	if result.Status != "completed" || string(result.Output) != "7" || result.Metadata.ExecutionTimeMS == nil {
		t.Errorf("%+v", result)
	}
	hub.send(&wire.Ack{Tokens: []string{"1.1"}})
	hub.stop()
	if credit := expect[*wire.Credit](hub); credit.Credits != 0 {
		t.Errorf("it still takes %d", credit.Credits)
	}
	hub.dismiss()
}

func TestAHandlerThatDoesNotEndIsReportedAndKeepsItsPlace(t *testing.T) {
	release := make(chan struct{})
	hub := employ(t, map[string]Handler{"deaf": func(context.Context, *Step) (any, error) { <-release; return nil, nil }})
	hub.welcome(expect[*wire.Hello](hub).Seq)
	limit := int64(1)
	hub.give("1.1", "deaf", &limit)
	credit := expect[*wire.Credit](hub)
	result := expect[*wire.Results](hub).Results[0]
	if result.Metadata.Outcome != "timed_out" || !strings.Contains(result.Error.Message, "still runs") {
		t.Errorf("%+v", result)
	}
	if credit.Credits != 0 {
		t.Errorf("it offers %d", credit.Credits)
	}
	close(release)
	if credit := expect[*wire.Credit](hub); credit.Credits != 2 {
		t.Errorf("it offers %d after the end", credit.Credits)
	}
	hub.send(&wire.Ack{Tokens: []string{"1.1"}})
	hub.dismiss()
}

func TestWhatWaitsIsGivenBackWhenNoPlaceBecomesFree(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hub := employ(t, map[string]Handler{"deaf": func(context.Context, *Step) (any, error) { <-release; return nil, nil }})
	hub.welcome(expect[*wire.Hello](hub).Seq)
	limit := int64(1)
	hub.give("1.1", "deaf", &limit)
	hub.give("2.1", "deaf", nil)
	outcomes := map[string]string{}
	for len(outcomes) < 2 {
		for _, result := range expect[*wire.Results](hub).Results {
			outcomes[result.Metadata.Token] = result.Metadata.Outcome
		}
	}
	if outcomes["2.1"] != "returned" {
		t.Errorf("%v", outcomes)
	}
}

func TestPrefetchedStepsBehindALongHandlerAreReturned(t *testing.T) {
	release := make(chan struct{})
	hub := employ(t, map[string]Handler{"deaf": func(context.Context, *Step) (any, error) { <-release; return nil, nil }})
	hub.welcome(expect[*wire.Hello](hub).Seq)
	for _, token := range []string{"1.1", "2.1", "3.1"} {
		hub.give(token, "deaf", nil)
	}
	result := expect[*wire.Results](hub).Results[0]
	if result.Metadata.Token != "3.1" || result.Metadata.Outcome != "returned" {
		t.Errorf("%+v", result)
	}
	close(release)
	for left := 2; left > 0; {
		for _, result := range expect[*wire.Results](hub).Results {
			if result.Status == "completed" {
				left--
			}
		}
	}
}

func TestWhatIsNotDoneWhenTheGraceIsOverIsLost(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hub := employ(t, map[string]Handler{"deaf": func(context.Context, *Step) (any, error) { <-release; return nil, nil }})
	hub.welcome(expect[*wire.Hello](hub).Seq)
	hub.give("1.1", "deaf", nil)
	expect[*wire.Received](hub)
	hub.stop()
	if result := expect[*wire.Results](hub).Results[0]; result.Status != "error" || result.Metadata.Outcome != "lost" {
		t.Errorf("%+v", result)
	}
	if err := hub.end(); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

func TestAConnectionThatIsGoneIsMadeAnewAtOnce(t *testing.T) {
	hub := employ(t, map[string]Handler{"seven": returning(7, nil)})
	hub.welcome(expect[*wire.Hello](hub).Seq)
	expect[*wire.Heartbeat](hub)
	hub.restart()
	if again := expect[*wire.Hello](hub); again.Seq != 2 {
		t.Errorf("%+v", again)
	}
}

func TestAServerKeyThatIsNotTheHubsIsSaidOnce(t *testing.T) {
	const public, secret = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
	hub := listen(t)
	for _, err := range []error{
		hub.socket.SetInt(zmq.CurveServer, 1), hub.socket.SetText(zmq.CurveSecretKey, strings.Repeat("0", 40)), hub.bind("tcp://127.0.0.1:*"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	made, err := dial(hub.context, hub.address, Options{MaxMessageBytes: 1 << 20, Curve: &Curve{public, public, secret}})
	if err != nil {
		t.Fatal(err)
	}
	defer made.close(0)
	var logged strings.Builder
	each := &connection{address: hub.address, dealer: made, session: network().newSession(), logger: log.New(&logged, "", 0)}
	for logged.Len() == 0 {
		if err := zmq.Poll([]*zmq.Socket{made.monitor}, hub.idle.read, patience); err != nil {
			t.Fatal(err)
		}
		if err := each.watch(); err != nil {
			t.Fatal(err)
		}
	}
	if expected := "hub " + hub.address + ": the encrypted connection fails; is the server key the hub's?\n"; logged.String() != expected {
		t.Error(logged.String())
	}
}

func TestAWorkerThatNoHubWantsEndsWithAnError(t *testing.T) {
	hub := employ(t, map[string]Handler{"seven": returning(7, nil)})
	expect[*wire.Hello](hub)
	hub.send(&wire.Error{Code: "key_refused", Message: "not here", Retry: false})
	var refused *RefusedError
	if err := hub.end(); !errors.As(err, &refused) || refused.Reason != "key_refused: not here" {
		t.Error(err)
	}
}

func TestAnAddressThatIsNoneEndsTheWorkerWithAnError(t *testing.T) {
	err := Run(context.Background(), Options{Connect: []string{"tcp://nowhere"}, Registry: some(), NoSignals: true})
	if err == nil || !strings.Contains(err.Error(), `"tcp://nowhere"`) {
		t.Error(err)
	}
}
