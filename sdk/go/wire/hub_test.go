package wire

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// hub is a link under test, and its hub's clock and voice.
type hub struct {
	t        *testing.T
	link     *Link
	holdings *Holdings
	now      time.Time
	session  string
	number   int64
	orphans  map[string]bool // hubs that are gone
}

func newHub(t *testing.T) *hub {
	h := &hub{t: t, holdings: NewHoldings(), now: time.Unix(1000, 0), orphans: map[string]bool{}}
	hello := Hello{Versions: []string{Version}, WorkerID: "w", Handlers: []string{"*"}, Codecs: []string{JSON}, Labels: map[string]string{}}
	number := func() int64 {
		h.number++
		return h.number
	}
	h.link = NewLink(hello, h.holdings, 8, number, func(each *Holding) bool { return h.orphans[each.Hub] })
	return h
}

// letIn opens a session.
func (h *hub) letIn(release ...string) *hub {
	h.link.Open(h.now)
	h.session = "s1"
	if h.number > 1 {
		h.session = fmt.Sprintf("s1-%d", h.number)
	}
	h.hear(&Welcome{
		ProtocolVersion: Version, Session: h.session, Seq: h.number, HubID: "hub", Codec: JSON, HeartbeatMS: 5000,
		LeaseMS: 15000, ResendMS: 2000, MaxMessageBytes: 1 << 20, Hubs: []string{}, Release: append([]string{}, release...),
	})
	return h
}

func (h *hub) hear(message Message) *hub { return h.hearIn(h.session, message) }

func (h *hub) hearIn(session string, message Message) *hub {
	frames, err := Pack(message, session)
	if err != nil {
		h.t.Fatal(err)
	}
	h.link.Receive(frames, h.now)
	return h
}

func (h *hub) give(steps ...Step) *hub { return h.hear(&Steps{"b1", Version, steps}) }

func (h *hub) pass(time time.Duration) *hub {
	h.now = h.now.Add(time)
	h.link.Tick(h.now)
	return h
}

// settled forgets what was said and asked until now.
func (h *hub) settled() { h.link.Outbox, h.link.Actions = nil, nil }

// said is what the link has said since it was asked last.
func (h *hub) said() []Message {
	var messages []Message
	for _, frames := range h.link.Outbox {
		_, message, err := Unpack(frames)
		if err != nil {
			h.t.Fatal(err)
		}
		messages = append(messages, message)
	}
	h.link.Outbox = nil
	return messages
}

func (h *hub) saidKinds() []string {
	kinds := []string{}
	for _, message := range h.said() {
		kinds = append(kinds, message.Kind())
	}
	return kinds
}

func (h *hub) finish(token string) {
	h.holdings.Finish(token, Completed(h.holdings.Get(token).Step, []byte(`1`)))
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
