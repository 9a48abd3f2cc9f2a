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
	hub.session.Open(hub.now)
	hub.pass(time.Second)
	same(t, "after a second", hub.sentKinds(), []string{"hello"})
	hub.pass(time.Second)
	same(t, "after two", hub.sentKinds(), []string{"hello"})
	hub.welcome()
	same(t, "when welcomed", hub.sentKinds(), []string{"hello", "heartbeat"})
}

func TestAWelcomeForAnotherHelloIsIgnored(t *testing.T) {
	hub := newHub(t)
	hub.session.Open(hub.now)
	hub.receive(&Welcome{ProtocolVersion: Version, Session: "s1", Seq: 7, HubID: "hub", Codec: JSON, Hubs: []string{}, Release: []string{}})
	same(t, "state", hub.session.State, Greeting)
}

func TestACodecThatWasNotOfferedIsMalformed(t *testing.T) {
	hub := newHub(t)
	hub.session.Open(hub.now)
	hub.receive(&Welcome{ProtocolVersion: Version, Session: "s1", Seq: 1, HubID: "hub", Codec: "msgpack", Hubs: []string{}, Release: []string{}})
	same(t, "state", hub.session.State, Closed)
	same(t, "malformed", hub.session.Malformed, 1)
}

func TestATokenIsReceivedAgainAndHeldOnce(t *testing.T) {
	hub := newHub(t).welcome()
	hub.cleared()
	hub.give(step("1.1")).give(step("1.1"))
	same(t, "sent", hub.sentKinds(), []string{"received", "received"})
	same(t, "held", hub.heldSteps.Len(), 1)
	hub.finish("1.1")
	hub.receive(&Ack{[]string{"1.1"}}).give(step("1.1"))
	same(t, "held after the acknowledgement", hub.heldSteps.Len(), 0)
}

func TestResultsOfABatchShareAMessageAndAreRepeatedUntilAcknowledged(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"), step("2.1"))
	hub.finish("1.1")
	hub.finish("2.1")
	hub.cleared()
	hub.pass(0)
	sent := hub.sent()
	same(t, "messages", len(sent), 1)
	same(t, "results", len(sent[0].(*Results).Results), 2)
	hub.pass(time.Second)
	same(t, "after a second", hub.sentKinds(), []string{})
	hub.receive(&Ack{[]string{"1.1"}}).pass(time.Second)
	sent = hub.sent()
	same(t, "the one that is left", sent[0].(*Results).Results[0].Metadata.Token, "2.1")
}

func TestAResultSurvivesSessions(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"))
	hub.finish("1.1")
	hub.pass(0)
	hub.welcome()
	hub.cleared()
	hub.pass(0)
	same(t, "sent", hub.sentKinds(), []string{"results"})
}

func TestAResultThatIsTooLargeBecomesAFailure(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"), step("2.1"))
	large := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	hub.heldSteps.Finish("1.1", Completed(hub.heldSteps.Get("1.1").Step, large))
	hub.finish("2.1")
	hub.cleared()
	hub.pass(0)
	sent := hub.sent()
	same(t, "messages", len(sent), 2)
	failure := sent[0].(*Results).Results[0]
	same(t, "status", failure.Status, "failed")
	same(t, "retryable", failure.Metadata.Retryable, false)
	same(t, "the other", sent[1].(*Results).Results[0].Status, "completed")
}

func TestAStepThatNeedsLeaveAsksForItUntilItIsAnswered(t *testing.T) {
	hub := newHub(t).welcome().give(confirmed("1.1"), confirmed("2.1"))
	hub.cleared()
	hub.pass(0)
	same(t, "sent before a slot is free", hub.sentKinds(), []string{})
	for _, token := range []string{"1.1", "2.1"} {
		hub.heldSteps.RequestStart(hub.heldSteps.Get(token))
	}
	hub.pass(0)
	hub.pass(2 * time.Second)
	same(t, "sent", hub.sentKinds(), []string{"start", "start"})
	hub.receive(&Started{[]string{"1.1"}, []string{"2.1"}}).pass(2 * time.Second)
	same(t, "after the answer", hub.sentKinds(), []string{})
	same(t, "granted", hub.heldSteps.Get("1.1").Granted, true)
	same(t, "denied", hub.heldSteps.Get("2.1"), (*HeldStep)(nil))
}

func TestCancelReturnsWhatWaitsAndStopsWhatRuns(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"), step("2.1"))
	hub.heldSteps.Begin(hub.heldSteps.Get("2.1"))
	hub.cleared()
	hub.receive(&Cancel{[]string{"1.1", "2.1", "3.1"}, "enough"})
	same(t, "outcome", hub.heldSteps.Get("1.1").Result.Metadata.Outcome, Returned)
	same(t, "actions", hub.session.Actions, []Action{Stop{"2.1", "enough", false}})
}

func TestWhatIsReleasedIsStoppedAndForgotten(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"), step("2.1"))
	hub.heldSteps.Begin(hub.heldSteps.Get("2.1"))
	hub.cleared()
	hub.welcome("1.1", "2.1")
	same(t, "held", hub.heldSteps.Len(), 0)
	same(t, "action", hub.session.Actions[1], Action(Stop{"2.1", "its result is not needed any more", true}))
}

func TestAWorkerWithoutAnswersIsOutOfContactBeforeItsLeaseIsOver(t *testing.T) {
	hub := newHub(t).welcome()
	hub.cleared()
	same(t, "in contact", hub.session.InContact(hub.now.Add(11900*time.Millisecond)), true)
	same(t, "out of contact", hub.session.InContact(hub.now.Add(12*time.Second)), false)
	hub.pass(12 * time.Second)
	same(t, "actions", hub.session.Actions, []Action{Reconnect{"no answer for 12.0 s"}})
}

func TestContactCountsFromWhenTheAnsweredHeartbeatWasSent(t *testing.T) {
	hub := newHub(t).welcome()
	hub.cleared()
	hub.pass(5 * time.Second)
	sent := hub.now
	beat := hub.sent()[0].(*Heartbeat)
	hub.now = hub.now.Add(4 * time.Second)
	hub.receive(&Heartbeat{Seq: beat.Seq, InFlight: []Held{}})
	same(t, "contact", hub.session.Contact, sent)
}

func TestTimeIsUpExactlyWhenNextDueSays(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"))
	hub.finish("1.1")
	hub.pass(0)
	hub.cleared()
	due := hub.session.NextDue()
	hub.pass(due.Sub(hub.now) - 1)
	same(t, "before", hub.sentKinds(), []string{})
	hub.pass(1)
	same(t, "then", hub.sentKinds(), []string{"results"})
}

func TestErrorsOfAHub(t *testing.T) {
	for _, each := range []struct {
		code  string
		retry bool
		state SessionState
	}{
		{"no_session", true, Closed},
		{"malformed", true, Closed},
		{"stopping", true, Closed},
		{"not_yours", true, Open},
		{"unknown_message", true, Open},
		{"key_refused", false, Refused},
	} {
		hub := newHub(t).welcome().receive(&Error{Code: each.code, Retry: each.retry})
		same(t, each.code, hub.session.State, each.state)
	}
}

func TestMessagesOfAnOldSessionAreIgnored(t *testing.T) {
	hub := newHub(t).welcome()
	old := hub.sessionID
	hub.welcome()
	hub.receiveIn(old, &Steps{"b1", Version, []Step{step("1.1")}})
	same(t, "held", hub.heldSteps.Len(), 0)
}

func TestLinesCarryTheirOffsetAndAreRepeatedUntilTheHubHasThem(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"))
	hub.heldSteps.AddLine("1.1", "log", "one")
	hub.heldSteps.AddLine("1.1", "log", "two")
	hub.cleared()
	hub.pass(0)
	hub.pass(2 * time.Second)
	same(t, "sent", hub.sentKinds(), []string{"log", "log"})
	hub.receive(&Logged{"1.1", 1}).pass(0)
	same(t, "the rest", hub.sent(), []Message{&Log{"1.1", 1, []Line{{"log", "two"}}}})
}

func TestNewLinesWaitHalfASecondAtMostForTheAnswerToThoseBefore(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"))
	hub.heldSteps.AddLine("1.1", "log", "one")
	hub.pass(0)
	hub.heldSteps.AddLine("1.1", "log", "two")
	hub.cleared()
	hub.pass(499 * time.Millisecond)
	same(t, "before", hub.sentKinds(), []string{})
	hub.pass(time.Millisecond)
	same(t, "then", len(hub.sent()[0].(*Log).Lines), 2)
}

func TestTheLastLinesGoBeforeTheResult(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"))
	for number := 0; number < 2500; number++ {
		hub.heldSteps.AddLine("1.1", "log", fmt.Sprint(number))
	}
	hub.finish("1.1")
	hub.cleared()
	hub.pass(0)
	same(t, "sent", hub.sentKinds(), []string{"log", "log", "log", "results"})
}

func TestTooManyLinesAreCutAndTheLastOneSaysSo(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"))
	for number := 0; number < maxLines+10; number++ {
		hub.heldSteps.AddLine("1.1", "stdout", "x")
	}
	lines := hub.heldSteps.Get("1.1").lines
	same(t, "lines", len(lines), maxLines+1)
	same(t, "the last", lines[maxLines].Stream, "log")
}

func TestWhatAHubGaveThatIsGoneIsReportedToThisOne(t *testing.T) {
	hub := newHub(t)
	for _, each := range []string{"gone", "alive"} {
		held := step(each + ".1")
		hub.heldSteps.Add(&held, "b", each, hub.now)
	}
	hub.orphans["gone"] = true
	hub.welcome()
	sent := hub.sent()
	same(t, "reported", sent[len(sent)-1].(*Heartbeat).InFlight, []Held{{"gone.1", Waiting}})
	hub.give(step("gone.1"))
	same(t, "its hub", hub.heldSteps.Get("gone.1").Hub, "hub")
}

func TestTheResultOfAHubThatGoesLaterIsSentWhenAllStepsAreChecked(t *testing.T) {
	hub := newHub(t).welcome()
	held := step("other.1")
	hub.heldSteps.Add(&held, "b", "other", hub.now)
	hub.finish("other.1")
	hub.cleared()
	hub.pass(0)
	same(t, "sent", hub.sentKinds(), []string{})
	hub.orphans["other"] = true
	hub.session.CheckAll()
	hub.pass(0)
	same(t, "sent when it is gone", hub.sentKinds(), []string{"results"})
}

func TestWhatWasReportedIsNotNewAgain(t *testing.T) {
	hub := newHub(t).welcome().give(step("1.1"), step("2.1"))
	hub.finish("1.1")
	hub.heldSteps.AddLine("2.1", "log", "one")
	same(t, "changed", len(hub.heldSteps.TakeChanged()), 2)
	same(t, "changed since", len(hub.heldSteps.TakeChanged()), 0)
	hub.finish("2.1")
	hub.receive(&Ack{[]string{"2.1"}})
	hub.cleared()
	hub.session.Report(hub.heldSteps.TakeChanged(), hub.now)
	same(t, "sent of what is acknowledged", hub.sentKinds(), []string{})
	same(t, "unacknowledged", hub.heldSteps.Unacknowledged(), 1)
}

func TestAHeartbeatTakesOverWhatAHubGaveThatIsGoneAndSaysWhichHubsThereAre(t *testing.T) {
	hub := newHub(t)
	for _, each := range []string{"gone", "alive"} {
		held := step(each + ".1")
		hub.heldSteps.Add(&held, "b", each, hub.now)
	}
	hub.orphans["gone"] = true
	hub.welcome()
	hub.receive(&Heartbeat{Seq: 1, InFlight: []Held{}, Keep: []string{"gone.1", "alive.1", "never.1"}, Hubs: []string{"tcp://a"}})
	hub.receive(&Heartbeat{Seq: 2, InFlight: []Held{}})
	same(t, "taken over", hub.heldSteps.Get("gone.1").Hub, "hub")
	same(t, "left alone", hub.heldSteps.Get("alive.1").Hub, "alive")
	same(t, "hubs", hub.session.Hubs, []string{"tcp://a"})
}

func TestFinishedTokensAreRememberedUpToABound(t *testing.T) {
	heldSteps := NewHeldSteps()
	for number := 0; number <= maxRemembered; number++ {
		heldSteps.Forget([]string{fmt.Sprint(number)})
	}
	for token, isNew := range map[string]bool{"0": true, "1": false, fmt.Sprint(maxRemembered): false} {
		again := step(token)
		same(t, token, heldSteps.Add(&again, "b", "hub", time.Unix(0, 0)), isNew)
	}
}
