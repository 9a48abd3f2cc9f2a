package wire

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// hub is a session under test with the clock and the messages of its hub.
type hub struct {
	t         *testing.T
	session   *WorkerSession
	heldSteps *HeldSteps
	now       time.Time
	sessionID string
	number    int64
	orphans   map[string]bool // hubs that are gone
}

func newHub(t *testing.T) *hub {
	h := &hub{t: t, heldSteps: NewHeldSteps(), now: time.Unix(1000, 0), orphans: map[string]bool{}}
	hello := Hello{Versions: []string{Version}, WorkerID: "w", Handlers: []string{"*"}, Codecs: []string{JSON}, Labels: map[string]string{}}
	number := func() int64 {
		h.number++
		return h.number
	}
	h.session = NewWorkerSession(hello, h.heldSteps, 8, number, func(each *HeldStep) bool { return h.orphans[each.Hub] })
	return h
}

// welcome opens a session.
func (h *hub) welcome(release ...string) *hub {
	h.session.Open(h.now)
	h.sessionID = "s1"
	if h.number > 1 {
		h.sessionID = fmt.Sprintf("s1-%d", h.number)
	}
	h.receive(&Welcome{
		ProtocolVersion: Version, Session: h.sessionID, Seq: h.number, HubID: "hub", Codec: JSON, HeartbeatMS: 5000,
		LeaseMS: 15000, ResendMS: 2000, MaxMessageBytes: 1 << 20, Hubs: []string{}, Release: append([]string{}, release...),
	})
	return h
}

func (h *hub) receive(message Message) *hub { return h.receiveIn(h.sessionID, message) }

func (h *hub) receiveIn(session string, message Message) *hub {
	frames, err := Pack(message, session)
	if err != nil {
		h.t.Fatal(err)
	}
	h.session.Receive(frames, h.now)
	return h
}

func (h *hub) give(steps ...Step) *hub { return h.receive(&Steps{"b1", Version, steps}) }

func (h *hub) pass(time time.Duration) *hub {
	h.now = h.now.Add(time)
	h.session.Report(h.heldSteps.TakeChanged(), h.now)
	h.session.Tick(h.now)
	return h
}

// cleared drops the messages and actions until now.
func (h *hub) cleared() { h.session.Outbox, h.session.Actions = nil, nil }

// sent returns the messages of the session since the last call.
func (h *hub) sent() []Message {
	var messages []Message
	for _, frames := range h.session.Outbox {
		_, message, err := Unpack(frames)
		if err != nil {
			h.t.Fatal(err)
		}
		messages = append(messages, message)
	}
	h.session.Outbox = nil
	return messages
}

func (h *hub) sentKinds() []string {
	kinds := []string{}
	for _, message := range h.sent() {
		kinds = append(kinds, message.Kind())
	}
	return kinds
}

func (h *hub) finish(token string) {
	h.heldSteps.Finish(token, Completed(h.heldSteps.Get(token).Step, []byte(`1`)))
}

func step(token string) Step {
	return Step{
		StepID: token, TaskID: "1", StepName: "step", HandlerClass: "echo", HandlerConfig: []byte(`{}`),
		Metadata: Metadata{Token: token}, PreviousResults: map[string]json.RawMessage{},
	}
}

func confirmed(token string) Step {
	step := step(token)
	step.Metadata.ConfirmStart = true
	return step
}
