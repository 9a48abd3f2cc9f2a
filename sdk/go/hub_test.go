package worker

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"runtime"
	"testing"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const patience = time.Minute

// grace of the workers here: long enough for all that ends by itself.
const grace = time.Second

// hub is a real socket that a real worker talks to; the test says what it answers.
type hub struct {
	t       *testing.T
	context *zmq.Context
	socket  *zmq.Socket
	address string
	idle    *wakeup
	worker  []byte // routing id
	session string
	ended   chan error
	stop    context.CancelFunc
}

// listen is a hub that is not bound yet.
func listen(t *testing.T) *hub {
	t.Helper()
	runtime.LockOSThread()
	h := &hub{t: t, ended: make(chan error, 1)}
	var err error
	if h.context, err = zmq.NewContext(); err != nil {
		t.Fatal(err)
	}
	if h.idle, err = newWakeup(); err != nil {
		t.Fatal(err)
	}
	h.socket = h.router()
	t.Cleanup(func() {
		h.socket.Close()
		h.idle.close()
		h.context.Close()
		runtime.UnlockOSThread()
	})
	return h
}

func (h *hub) router() *zmq.Socket {
	h.t.Helper()
	socket, err := h.context.Socket(zmq.Router)
	if err == nil {
		err = socket.SetInt(zmq.Linger, 0)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return socket
}

func (h *hub) bind(address string) (err error) {
	if err = h.socket.Bind(address); err == nil {
		h.address, err = h.socket.Endpoint()
	}
	return err
}

// restart goes, and is there again at the same address, with no memory of its connections.
func (h *hub) restart() {
	h.t.Helper()
	h.socket.Close()
	h.socket = h.router()
	for end := time.Now().Add(patience); h.bind(h.address) != nil; {
		if time.Now().After(end) {
			h.t.Fatal("the address is not free")
		}
		runtime.Gosched()
	}
}

// employ starts a worker with one slot that has these handlers.
func employ(t *testing.T, handlers map[string]Handler) *hub {
	t.Helper()
	h := listen(t)
	if err := h.bind("tcp://127.0.0.1:*"); err != nil {
		t.Fatal(err)
	}
	registry := NewRegistry()
	for name, handler := range handlers {
		registry.Handle(name, handler)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	t.Cleanup(stop)
	address := h.address
	go func() {
		h.ended <- Run(ctx, Options{
			Connect: []string{address}, Labels: map[string]string{"zone": "a"}, Concurrency: 1, Registry: registry,
			KillGrace: time.Millisecond, Grace: grace, Logger: log.New(io.Discard, "", 0), NoSignals: true,
		})
	}()
	return h
}

// expect waits for a message of this type; heartbeats are answered on the way.
func expect[M wire.Message](h *hub) M {
	h.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		frames, err := h.socket.Receive()
		if err == zmq.ErrAgain {
			if err := zmq.Poll([]*zmq.Socket{h.socket}, h.idle.read, time.Second); err != nil {
				h.t.Fatal(err)
			}
			continue
		}
		if err != nil {
			h.t.Fatal(err)
		}
		h.worker = frames[0]
		_, message, err := wire.Unpack(frames[1:])
		if err != nil {
			h.t.Fatal(err)
		}
		if beat, ok := message.(*wire.Heartbeat); ok {
			h.send(&wire.Heartbeat{Seq: beat.Seq, InFlight: []wire.Held{}})
		}
		if found, ok := message.(M); ok {
			return found
		}
	}
	h.t.Fatalf("%T did not come", *new(M))
	return *new(M)
}

func (h *hub) send(message wire.Message) {
	h.t.Helper()
	frames, err := wire.Pack(message, h.session)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.socket.Send(append([][]byte{h.worker}, frames...)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hub) welcome(seq int64) {
	h.session = "s1"
	h.send(&wire.Welcome{
		ProtocolVersion: wire.Version, Session: h.session, Seq: seq, HubID: "hub", Codec: wire.JSON, HeartbeatMS: 100,
		LeaseMS: 60_000, ResendMS: 1000, MaxMessageBytes: 1 << 20, Hubs: []string{}, Release: []string{},
	})
}

func (h *hub) give(token, handler string, timeoutMS *int64) {
	h.send(&wire.Steps{BatchID: "b", ProtocolVersion: wire.Version, Steps: []wire.Step{{
		StepID: token, TaskID: "1", StepName: "step", HandlerClass: handler, PreviousResults: map[string]json.RawMessage{},
		Metadata: wire.Metadata{Token: token, TimeoutMS: timeoutMS},
	}}})
}

// dismiss lets the worker go, which holds nothing any more.
func (h *hub) dismiss() {
	h.t.Helper()
	h.stop()
	expect[*wire.Bye](h)
	h.send(&wire.Bye{})
	if err := h.end(); err != nil {
		h.t.Error(err)
	}
}

// end is what Run returned.
func (h *hub) end() error {
	h.t.Helper()
	select {
	case err := <-h.ended:
		return err
	case <-time.After(patience):
		h.t.Fatal("the worker does not end")
		return nil
	}
}
