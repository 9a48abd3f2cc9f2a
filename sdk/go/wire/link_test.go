package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func same(t *testing.T, what string, found, expected any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Errorf("%s: %v instead of %v", what, found, expected)
	}
}

func TestHelloIsRepeatedUntilItIsAnswered(t *testing.T) {
	hub := newHub(t)
	hub.link.Open(hub.now)
	hub.pass(time.Second)
	same(t, "after a second", hub.saidKinds(), []string{"hello"})
	hub.pass(time.Second)
	same(t, "after two", hub.saidKinds(), []string{"hello"})
	hub.letIn()
	same(t, "when let in", hub.saidKinds(), []string{"hello", "heartbeat"})
}

func TestAWelcomeForAnotherHelloIsIgnored(t *testing.T) {
	hub := newHub(t)
	hub.link.Open(hub.now)
	hub.hear(&Welcome{ProtocolVersion: Version, Session: "s1", Seq: 7, HubID: "hub", Codec: JSON, Hubs: []string{}, Release: []string{}})
	same(t, "state", hub.link.State, Greeting)
}

func TestACodecThatWasNotOfferedIsMalformed(t *testing.T) {
	hub := newHub(t)
	hub.link.Open(hub.now)
	hub.hear(&Welcome{ProtocolVersion: Version, Session: "s1", Seq: 1, HubID: "hub", Codec: "msgpack", Hubs: []string{}, Release: []string{}})
	same(t, "state", hub.link.State, Closed)
	same(t, "malformed", hub.link.Malformed, 1)
}

func TestATokenIsReceivedAgainAndHeldOnce(t *testing.T) {
	hub := newHub(t).letIn()
	hub.settled()
	hub.give(step("1.1")).give(step("1.1"))
	same(t, "said", hub.saidKinds(), []string{"received", "received"})
	same(t, "held", hub.holdings.Len(), 1)
	hub.finish("1.1")
	hub.hear(&Ack{[]string{"1.1"}}).give(step("1.1"))
	same(t, "held after the acknowledgement", hub.holdings.Len(), 0)
}

func TestResultsOfABatchShareAMessageAndAreRepeatedUntilAcknowledged(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"), step("2.1"))
	hub.finish("1.1")
	hub.finish("2.1")
	hub.settled()
	hub.pass(0)
	said := hub.said()
	same(t, "messages", len(said), 1)
	same(t, "results", len(said[0].(*Results).Results), 2)
	hub.pass(time.Second)
	same(t, "after a second", hub.saidKinds(), []string{})
	hub.hear(&Ack{[]string{"1.1"}}).pass(time.Second)
	said = hub.said()
	same(t, "the one that is left", said[0].(*Results).Results[0].Metadata.Token, "2.1")
}

func TestAResultSurvivesSessions(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"))
	hub.finish("1.1")
	hub.pass(0)
	hub.letIn()
	hub.settled()
	hub.pass(0)
	same(t, "said", hub.saidKinds(), []string{"results"})
}

func TestAResultThatIsTooLargeBecomesAFailure(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"), step("2.1"))
	large := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	hub.holdings.Finish("1.1", Completed(hub.holdings.Get("1.1").Step, large))
	hub.finish("2.1")
	hub.settled()
	hub.pass(0)
	said := hub.said()
	same(t, "messages", len(said), 2)
	failure := said[0].(*Results).Results[0]
	same(t, "status", failure.Status, "failed")
	same(t, "retryable", failure.Metadata.Retryable, false)
	same(t, "the other", said[1].(*Results).Results[0].Status, "completed")
}

func TestAStepThatNeedsLeaveAsksForItUntilItIsAnswered(t *testing.T) {
	hub := newHub(t).letIn().give(confirmed("1.1"), confirmed("2.1"))
	hub.settled()
	hub.pass(0)
	hub.pass(2 * time.Second)
	same(t, "said", hub.saidKinds(), []string{"start", "start"})
	hub.hear(&Started{[]string{"1.1"}, []string{"2.1"}}).pass(2 * time.Second)
	same(t, "after the answer", hub.saidKinds(), []string{})
	same(t, "granted", hub.holdings.Get("1.1").Granted, true)
	same(t, "denied", hub.holdings.Get("2.1"), (*Holding)(nil))
}

func TestCancelGivesBackWhatWaitsAndStopsWhatRuns(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"), step("2.1"))
	hub.holdings.Get("2.1").State = Running
	hub.settled()
	hub.hear(&Cancel{[]string{"1.1", "2.1", "3.1"}, "enough"})
	same(t, "outcome", hub.holdings.Get("1.1").Result.Metadata.Outcome, Returned)
	same(t, "actions", hub.link.Actions, []Action{Stop{"2.1", "enough", false}})
}

func TestWhatIsReleasedIsStoppedAndForgotten(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"), step("2.1"))
	hub.holdings.Get("2.1").State = Running
	hub.settled()
	hub.letIn("1.1", "2.1")
	same(t, "held", hub.holdings.Len(), 0)
	same(t, "action", hub.link.Actions[1], Action(Stop{"2.1", "nobody waits for it any more", true}))
}

func TestAWorkerWithoutAnswersIsOutOfContactBeforeItsLeaseIsOver(t *testing.T) {
	hub := newHub(t).letIn()
	hub.settled()
	same(t, "in contact", hub.link.InContact(hub.now.Add(11900*time.Millisecond)), true)
	same(t, "out of contact", hub.link.InContact(hub.now.Add(12*time.Second)), false)
	hub.pass(12 * time.Second)
	same(t, "actions", hub.link.Actions, []Action{Reconnect{"no answer for 12.0 s"}})
}

func TestContactCountsFromWhenTheAnsweredHeartbeatWasSent(t *testing.T) {
	hub := newHub(t).letIn()
	hub.settled()
	hub.pass(5 * time.Second)
	sent := hub.now
	beat := hub.said()[0].(*Heartbeat)
	hub.now = hub.now.Add(4 * time.Second)
	hub.hear(&Heartbeat{Seq: beat.Seq, InFlight: []Held{}})
	same(t, "contact", hub.link.Contact, sent)
}

func TestTimeIsUpExactlyWhenNextDueSays(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"))
	hub.finish("1.1")
	hub.pass(0)
	hub.settled()
	due := hub.link.NextDue()
	hub.pass(due.Sub(hub.now) - 1)
	same(t, "before", hub.saidKinds(), []string{})
	hub.pass(1)
	same(t, "then", hub.saidKinds(), []string{"results"})
}

func TestErrorsOfAHub(t *testing.T) {
	for _, each := range []struct {
		code  string
		retry bool
		state LinkState
	}{
		{"no_session", true, Closed},
		{"malformed", true, Closed},
		{"stopping", true, Closed},
		{"not_yours", true, Open},
		{"unknown_message", true, Open},
		{"key_refused", false, Refused},
	} {
		hub := newHub(t).letIn().hear(&Error{Code: each.code, Retry: each.retry})
		same(t, each.code, hub.link.State, each.state)
	}
}

func TestMessagesOfAnOldSessionAreIgnored(t *testing.T) {
	hub := newHub(t).letIn()
	old := hub.session
	hub.letIn()
	hub.hearIn(old, &Steps{"b1", Version, []Step{step("1.1")}})
	same(t, "held", hub.holdings.Len(), 0)
}

func TestLinesCarryTheirOffsetAndAreRepeatedUntilTheHubHasThem(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"))
	hub.holdings.Say("1.1", "log", "one")
	hub.holdings.Say("1.1", "log", "two")
	hub.settled()
	hub.pass(0)
	hub.pass(2 * time.Second)
	same(t, "said", hub.saidKinds(), []string{"log", "log"})
	hub.hear(&Logged{"1.1", 1}).pass(0)
	same(t, "the rest", hub.said(), []Message{&Log{"1.1", 1, []Line{{"log", "two"}}}})
}

func TestNewLinesWaitHalfASecondAtMostForTheAnswerToThoseBefore(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"))
	hub.holdings.Say("1.1", "log", "one")
	hub.pass(0)
	hub.holdings.Say("1.1", "log", "two")
	hub.settled()
	hub.pass(499 * time.Millisecond)
	same(t, "before", hub.saidKinds(), []string{})
	hub.pass(time.Millisecond)
	same(t, "then", len(hub.said()[0].(*Log).Lines), 2)
}

func TestTheLastLinesGoBeforeTheResult(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"))
	for number := 0; number < 2500; number++ {
		hub.holdings.Say("1.1", "log", fmt.Sprint(number))
	}
	hub.finish("1.1")
	hub.settled()
	hub.pass(0)
	same(t, "said", hub.saidKinds(), []string{"log", "log", "log", "results"})
}

func TestTooManyLinesAreCutAndTheLastOneSaysSo(t *testing.T) {
	hub := newHub(t).letIn().give(step("1.1"))
	for number := 0; number < mostLines+10; number++ {
		hub.holdings.Say("1.1", "stdout", "x")
	}
	lines := hub.holdings.Get("1.1").lines
	same(t, "lines", len(lines), mostLines+1)
	same(t, "the last", lines[mostLines].Stream, "log")
}

func TestWhatAHubGaveThatIsGoneIsToldToThisOne(t *testing.T) {
	hub := newHub(t)
	for _, each := range []string{"gone", "alive"} {
		held := step(each + ".1")
		hub.holdings.Take(&held, "b", each, hub.now)
	}
	hub.orphans["gone"] = true
	hub.letIn()
	said := hub.said()
	same(t, "told", said[len(said)-1].(*Heartbeat).InFlight, []Held{{"gone.1", Waiting}})
	hub.give(step("gone.1"))
	same(t, "its hub", hub.holdings.Get("gone.1").Hub, "hub")
}

func TestAHeartbeatTakesOverWhatAHubGaveThatIsGoneAndSaysWhichHubsThereAre(t *testing.T) {
	hub := newHub(t)
	for _, each := range []string{"gone", "alive"} {
		held := step(each + ".1")
		hub.holdings.Take(&held, "b", each, hub.now)
	}
	hub.orphans["gone"] = true
	hub.letIn()
	hub.hear(&Heartbeat{Seq: 1, InFlight: []Held{}, Keep: []string{"gone.1", "alive.1", "never.1"}, Hubs: []string{"tcp://a"}})
	hub.hear(&Heartbeat{Seq: 2, InFlight: []Held{}})
	same(t, "taken over", hub.holdings.Get("gone.1").Hub, "hub")
	same(t, "left alone", hub.holdings.Get("alive.1").Hub, "alive")
	same(t, "hubs", hub.link.Hubs, []string{"tcp://a"})
}

func TestFinishedTokensAreRememberedUpToABound(t *testing.T) {
	holdings := NewHoldings()
	for number := 0; number <= remembered; number++ {
		holdings.Forget([]string{fmt.Sprint(number)})
	}
	for token, isNew := range map[string]bool{"0": true, "1": false, fmt.Sprint(remembered): false} {
		again := step(token)
		same(t, token, holdings.Take(&again, "b", "hub", time.Unix(0, 0)), isNew)
	}
}
