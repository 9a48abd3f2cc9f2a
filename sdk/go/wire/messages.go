// Package wire is the worker protocol without sockets: messages and their frames, the steps that a worker
// holds, and its side of a session with one hub (docs/reference/protocol.md).
package wire

// Version is the version of the protocol.
const Version = "1.0"

// JSON is the only codec of this worker.
const JSON = "json"

// Message is one kind of message. Fields are decoded by their tags, see decode.
type Message interface {
	Kind() string
}

// State is the state of a step that a worker holds.
type State string

// The states of a step that a worker holds.
const (
	Waiting State = "waiting"
	Running State = "running"
	Done    State = "done"
)

// Held is a step that a worker holds.
type Held struct {
	Token string `json:"token" wire:"required"`
	State State  `json:"state" wire:"required"`
}

// Hello introduces a worker. BootID, PIDNamespace and ProcessStarted let a hub on the same machine check whether the
// process is alive.
type Hello struct {
	Versions       []string          `json:"versions" wire:"required"`
	WorkerID       string            `json:"worker_id" wire:"required"`
	Seq            int64             `json:"seq" wire:"required"`
	Name           string            `json:"name"`
	Language       string            `json:"language"`
	SDKVersion     string            `json:"sdk_version"`
	Host           string            `json:"host"`
	PID            int               `json:"pid"`
	BootID         string            `json:"boot_id,omitempty"`
	PIDNamespace   string            `json:"pid_namespace,omitempty"`
	ProcessStarted string            `json:"process_started,omitempty"`
	Labels         map[string]string `json:"labels"`
	Handlers       []string          `json:"handlers" wire:"required"`
	Codecs         []string          `json:"codecs" wire:"required"`
	Credits        int               `json:"credits" wire:"required"`
	Concurrency    int               `json:"concurrency,omitempty"`
	InFlight       []Held            `json:"in_flight"`
}

// Welcome opens a session.
type Welcome struct {
	ProtocolVersion string   `json:"protocol_version" wire:"required"`
	Session         string   `json:"session" wire:"required"`
	Seq             int64    `json:"seq" wire:"required"`
	HubID           string   `json:"hub_id" wire:"required"`
	Codec           string   `json:"codec" wire:"required"`
	HeartbeatMS     int64    `json:"heartbeat_ms" wire:"required"`
	LeaseMS         int64    `json:"lease_ms" wire:"required"`
	ResendMS        int64    `json:"resend_ms" wire:"required"`
	MaxMessageBytes int64    `json:"max_message_bytes" wire:"required"`
	Hubs            []string `json:"hubs"`
	Release         []string `json:"release"`
}

// Credit is the number of steps of this hub that the worker holds at most.
type Credit struct {
	Seq     int64 `json:"seq" wire:"required"`
	Credits int   `json:"credits" wire:"required"`
}

// Heartbeat lists the steps that a worker holds; a hub answers with Seq, the steps that it takes over, and all hubs.
type Heartbeat struct {
	Seq      int64    `json:"seq" wire:"required"`
	Credits  int      `json:"credits"`
	InFlight []Held   `json:"in_flight"`
	Keep     []string `json:"keep,omitempty"`
	Hubs     []string `json:"hubs,omitempty"`
}

// Received names steps that have arrived.
type Received struct {
	Tokens []string `json:"tokens" wire:"required"`
}

// Start asks for leave to begin.
type Start struct {
	Tokens []string `json:"tokens" wire:"required"`
}

// Started answers Start.
type Started struct {
	Granted []string `json:"granted"`
	Denied  []string `json:"denied"`
}

// Ack names results that are durable, or not needed.
type Ack struct {
	Tokens []string `json:"tokens" wire:"required"`
}

// Cancel names steps to be stopped.
type Cancel struct {
	Tokens []string `json:"tokens" wire:"required"`
	Reason string   `json:"reason"`
}

// Line is one line of an attempt's log.
type Line struct {
	Stream string `json:"stream" wire:"required"`
	Text   string `json:"text" wire:"required"`
}

// Log carries lines; Offset is the number of lines before them.
type Log struct {
	Token  string `json:"token" wire:"required"`
	Offset int    `json:"offset" wire:"required"`
	Lines  []Line `json:"lines" wire:"required"`
}

// Logged is the number of lines of an attempt that the hub has.
type Logged struct {
	Token string `json:"token" wire:"required"`
	Next  int    `json:"next" wire:"required"`
}

// Progress is the progress of a step.
type Progress struct {
	Token   string   `json:"token" wire:"required"`
	Done    float64  `json:"done" wire:"required"`
	Total   *float64 `json:"total"`
	Message string   `json:"message"`
}

// Drain asks a worker to drain.
type Drain struct {
	Reason string `json:"reason"`
}

// Bye ends a session.
type Bye struct {
	Reason string `json:"reason"`
}

// Error is a refusal; without Retry the worker must not connect again by itself.
type Error struct {
	Code    string   `json:"code" wire:"required"`
	Message string   `json:"message"`
	Retry   bool     `json:"retry" wire:"true"`
	Tokens  []string `json:"tokens,omitempty"`
}

// Kind returns the first frame.
func (*Hello) Kind() string { return "hello" }

// Kind returns the first frame.
func (*Welcome) Kind() string { return "welcome" }

// Kind returns the first frame.
func (*Credit) Kind() string { return "credit" }

// Kind returns the first frame.
func (*Heartbeat) Kind() string { return "heartbeat" }

// Kind returns the first frame.
func (*Steps) Kind() string { return "steps" }

// Kind returns the first frame.
func (*Received) Kind() string { return "received" }

// Kind returns the first frame.
func (*Start) Kind() string { return "start" }

// Kind returns the first frame.
func (*Started) Kind() string { return "started" }

// Kind returns the first frame.
func (*Results) Kind() string { return "results" }

// Kind returns the first frame.
func (*Ack) Kind() string { return "ack" }

// Kind returns the first frame.
func (*Cancel) Kind() string { return "cancel" }

// Kind returns the first frame.
func (*Log) Kind() string { return "log" }

// Kind returns the first frame.
func (*Logged) Kind() string { return "logged" }

// Kind returns the first frame.
func (*Progress) Kind() string { return "progress" }

// Kind returns the first frame.
func (*Drain) Kind() string { return "drain" }

// Kind returns the first frame.
func (*Bye) Kind() string { return "bye" }

// Kind returns the first frame.
func (*Error) Kind() string { return "error" }

// blank returns an empty message of a kind, nil if there is none.
func blank(kind string) Message {
	switch kind {
	case "hello":
		return &Hello{}
	case "welcome":
		return &Welcome{}
	case "credit":
		return &Credit{}
	case "heartbeat":
		return &Heartbeat{}
	case "steps":
		return &Steps{}
	case "received":
		return &Received{}
	case "start":
		return &Start{}
	case "started":
		return &Started{}
	case "results":
		return &Results{}
	case "ack":
		return &Ack{}
	case "cancel":
		return &Cancel{}
	case "log":
		return &Log{}
	case "logged":
		return &Logged{}
	case "progress":
		return &Progress{}
	case "drain":
		return &Drain{}
	case "bye":
		return &Bye{}
	case "error":
		return &Error{}
	}
	return nil
}
