package wire

import (
	"errors"
	"fmt"
	"time"
)

const (
	helloInterval = 2 * time.Second
	// The lease before the first welcome.
	defaultLease = 15 * time.Second
	// The shortest interval that a hub can set.
	minInterval = 10 * time.Millisecond
	// Bytes of a message besides its body, encryption included.
	envelopeBytes = 1024
)

// SessionState is the state of a session.
type SessionState int

// The states of a session. A hub that has refused the worker is not connected to again.
const (
	Closed SessionState = iota
	Greeting
	Open
	Refused
)

// WorkerSession is a worker's side of its sessions with one hub, without a socket. Outbox holds messages to be sent and
// Actions what is to be done; the owner of the socket empties both after each call.
type WorkerSession struct {
	State     SessionState
	HelloSeq  int64 // number of the last connection
	Hub       string
	Hubs      []string
	Lease     time.Duration
	Contact   time.Time // when the last message was sent that the hub has answered
	Malformed int
	OverLimit bool // the hub has sent a message over the limit; the next may cost as much, so the backoff only grows
	Outbox    [][][]byte
	Actions   []Action

	hello        Hello
	heldSteps    *HeldSteps
	credits      int
	nextHelloSeq func() int64
	orphan       func(*HeldStep) bool

	sessionID                            string
	seq                                  int64
	sentAt                               map[int64]time.Time // when each heartbeat that is not answered yet was sent
	opened, helloSentAt, heartbeatSentAt time.Time
	heartbeat                            time.Duration
	maxBytes                             int64
	report                               report
	reportDue                            time.Time // when all own steps are to be checked for what is due
}

// NewWorkerSession returns a closed session. nextHelloSeq numbers the connections of the process; orphan returns true for
// a step of a hub that the worker has no session with any more, which is reported to every other hub.
func NewWorkerSession(hello Hello, heldSteps *HeldSteps, credits int, nextHelloSeq func() int64, orphan func(*HeldStep) bool) *WorkerSession {
	return &WorkerSession{
		Lease: defaultLease, hello: hello, heldSteps: heldSteps, credits: credits, nextHelloSeq: nextHelloSeq, orphan: orphan,
	}
}

// Open sends hello on a new connection.
func (s *WorkerSession) Open(now time.Time) {
	s.State, s.sessionID, s.seq, s.sentAt = Greeting, "", 0, map[int64]time.Time{}
	s.HelloSeq = s.nextHelloSeq()
	s.opened = now
	s.sendHello(now)
}

// InContact returns whether steps of this hub may begin: it cannot have given them to other workers yet.
func (s *WorkerSession) InContact(now time.Time) bool {
	return s.State == Open && now.Sub(s.Contact) < s.fence()
}

// SetCredits sets the number of steps of this hub that are held at most.
func (s *WorkerSession) SetCredits(credits int) {
	if credits == s.credits {
		return
	}
	s.credits = credits
	if s.State == Open {
		s.send(&Credit{s.nextSeq(), credits})
	}
}

// Progress sends the progress of a step.
func (s *WorkerSession) Progress(progress *Progress) {
	if s.State == Open {
		s.send(progress)
	}
}

// SendHeartbeat sends a heartbeat now, with the steps that are held here.
func (s *WorkerSession) SendHeartbeat(now time.Time) {
	if s.State != Open {
		return
	}
	seq := s.nextSeq()
	s.heartbeatSentAt, s.sentAt[seq] = now, now
	s.send(&Heartbeat{Seq: seq, Credits: s.credits, InFlight: s.listed()})
}

// ConnectionLost ends the session of a lost connection.
func (s *WorkerSession) ConnectionLost(reason string) { s.reconnect(reason) }

// Refuse is called when the hub refuses the connection: messages sent on it would not be read.
func (s *WorkerSession) Refuse(reason string) {
	if s.State != Refused {
		s.State = Refused
		s.Actions = append(s.Actions, HubClosed{reason})
	}
}

// Bye sends bye.
func (s *WorkerSession) Bye(reason string) {
	if s.State == Open {
		s.send(&Bye{reason})
	}
}

// Report sends what is new about those of these steps that are this hub's.
func (s *WorkerSession) Report(changed []*HeldStep, now time.Time) {
	if s.State == Open {
		s.reportDue = earlier(s.reportDue, s.sendDue(s.own(changed), now))
	}
}

// CheckAll makes the next Tick check all own steps: the hubs that the worker has a session with have changed, and so may
// have the steps without one.
func (s *WorkerSession) CheckAll() { s.reportDue = time.Time{} }

// sendDue sends what is due about these steps, and returns when there is something to send again.
func (s *WorkerSession) sendDue(ownSteps []*HeldStep, now time.Time) time.Time {
	s.report.due(ownSteps, now)
	return s.report.next(ownSteps)
}

// Tick sends what is due by time.
func (s *WorkerSession) Tick(now time.Time) {
	switch s.State {
	case Greeting:
		if now.Sub(s.opened) >= s.fence() {
			s.reconnect("no answer to hello")
		} else if now.Sub(s.helloSentAt) >= helloInterval {
			s.sendHello(now)
		}
	case Open:
		if silence := now.Sub(s.Contact); silence >= s.fence() {
			s.reconnect(fmt.Sprintf("no answer for %.1f s", silence.Seconds()))
			return
		}
		if now.Sub(s.heartbeatSentAt) >= s.heartbeat {
			s.SendHeartbeat(now)
		}
		if !now.Before(s.reportDue) {
			s.reportDue = s.sendDue(s.ownSteps(), now)
		}
	}
}

// NextDue returns the time of the next Tick that has something to do, if nothing else happens before.
func (s *WorkerSession) NextDue() time.Time {
	switch s.State {
	case Greeting:
		return earlier(s.helloSentAt.Add(helloInterval), s.opened.Add(s.fence()))
	case Open:
		return earlier(earlier(s.heartbeatSentAt.Add(s.heartbeat), s.Contact.Add(s.fence())), s.reportDue)
	}
	return Later
}

// Receive processes a message.
func (s *WorkerSession) Receive(frames [][]byte, now time.Time) {
	session, message, err := Unpack(frames)
	var unknown *UnknownKind
	switch {
	case errors.As(err, &unknown):
		if s.State == Open && session == s.sessionID {
			s.sendError(err.Error())
		}
	case err != nil:
		s.OverLimit = s.OverLimit || errors.Is(err, ErrOverLimit)
		s.onMalformed(err.Error())
	default:
		s.onMessage(session, message, now)
	}
}

func (s *WorkerSession) onMessage(session string, message Message, now time.Time) {
	switch message := message.(type) {
	case *Welcome:
		s.onWelcome(message, now)
		return
	case *Error:
		s.onError(message, session)
		return
	}
	if s.State != Open || session != s.sessionID {
		return
	}
	switch message := message.(type) {
	case *Steps:
		s.onSteps(message, now)
	case *Ack:
		s.forget(message.Tokens, "its result has been taken")
	case *Heartbeat:
		s.onHeartbeat(message)
	case *Started:
		s.onStarted(message)
	case *Cancel:
		s.onCancel(message)
	case *Logged:
		s.heldSteps.AcknowledgeLines(message.Token, message.Next)
	case *Drain:
		s.Actions = append(s.Actions, DrainRequested{message.Reason})
	case *Bye:
		s.State = Closed
		s.Actions = append(s.Actions, HubClosed{message.Reason})
	default:
		s.sendError(message.Kind() + " is not for a worker")
	}
}

func (s *WorkerSession) sendHello(now time.Time) {
	s.helloSentAt = now
	hello := s.hello
	hello.Seq, hello.Credits, hello.InFlight = s.HelloSeq, s.credits, s.listed()
	if frames, err := Pack(&hello, ""); err == nil {
		s.Outbox = append(s.Outbox, frames)
	}
}

// isOwn returns whether a step is reported to this hub: it gave the step, or the hub that did is gone.
func (s *WorkerSession) isOwn(heldStep *HeldStep) bool {
	return heldStep.Hub == s.Hub || s.orphan(heldStep)
}

func (s *WorkerSession) ownSteps() []*HeldStep { return s.heldSteps.Select(s.isOwn) }

// own returns those of these steps that are held and reported to this hub.
func (s *WorkerSession) own(heldSteps []*HeldStep) []*HeldStep {
	var found []*HeldStep
	for _, each := range heldSteps {
		if s.isOwn(each) && s.heldSteps.Get(each.Token()) == each {
			found = append(found, each)
		}
	}
	return found
}

func (s *WorkerSession) listed() []Held {
	ownSteps := s.ownSteps()
	held := make([]Held, len(ownSteps))
	for index, each := range ownSteps {
		held[index] = Held{each.Token(), each.State}
	}
	return held
}

func (s *WorkerSession) reconnect(reason string) {
	if s.State == Greeting || s.State == Open {
		s.State = Closed
		s.Actions = append(s.Actions, Reconnect{reason})
	}
}

func (s *WorkerSession) onMalformed(reason string) {
	s.Malformed++
	s.reconnect(reason)
}

func (s *WorkerSession) sendError(message string) {
	s.send(&Error{Code: "unknown_message", Message: message, Retry: true})
}

// send returns whether the message was sent: the hub closes a connection on a message over the size limit.
func (s *WorkerSession) send(message Message) bool {
	frames, err := Pack(message, s.sessionID)
	if err != nil || int64(len(frames[2])+envelopeBytes) > s.maxBytes {
		return false
	}
	s.Outbox = append(s.Outbox, frames)
	return true
}

func (s *WorkerSession) nextSeq() int64 {
	s.seq++
	return s.seq
}

// fence returns the time without an answer after which nothing begins.
func (s *WorkerSession) fence() time.Duration { return s.Lease / 10 * 8 }
