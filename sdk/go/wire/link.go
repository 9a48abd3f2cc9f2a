package wire

import (
	"errors"
	"fmt"
	"time"
)

const (
	resendHello = 2 * time.Second
	// The lease before a welcome has named one.
	firstLease = 15 * time.Second
	// No hub keeps a worker busier than that.
	shortest = 10 * time.Millisecond
	// Bytes that a message may have besides its body, encryption included.
	envelopeBytes = 1024
)

// LinkState says how a link stands with its hub.
type LinkState int

// The states of a link. A refused one is not wanted, and asking again is of no use.
const (
	Closed LinkState = iota
	Greeting
	Open
	Refused
)

// Link is a worker's side of its sessions with one hub. Outbox holds messages to be sent and Actions what is to be
// done; whoever owns the socket empties both after each call.
type Link struct {
	State     LinkState
	Greeting  int64 // number of the last connection
	Hub       string
	Hubs      []string
	Lease     time.Duration
	Contact   time.Time // when the last message was sent that the hub has answered
	Malformed int
	OverLimit bool // the hub has sent a message over the limit; the next may cost as much, so the pauses only grow
	Outbox    [][][]byte
	Actions   []Action

	hello      Hello
	holdings   *Holdings
	credits    int
	nextNumber func() int64
	orphan     func(*Holding) bool

	session                 string
	seq                     int64
	unanswered              map[int64]time.Time // when each heartbeat that is not answered yet was sent
	opened, greeted, beaten time.Time
	heartbeat               time.Duration
	maxBytes                int64
	report                  report
}

// NewLink is a closed link. nextNumber numbers the connections of the process; orphan tells whether the worker has no
// session any more with the hub that gave a step: then every other hub hears of it.
func NewLink(hello Hello, holdings *Holdings, credits int, nextNumber func() int64, orphan func(*Holding) bool) *Link {
	return &Link{
		Lease: firstLease, hello: hello, holdings: holdings, credits: credits, nextNumber: nextNumber, orphan: orphan,
	}
}

// Open says hello on a fresh connection.
func (l *Link) Open(now time.Time) {
	l.State, l.session, l.seq, l.unanswered = Greeting, "", 0, map[int64]time.Time{}
	l.Greeting = l.nextNumber()
	l.opened = now
	l.greet(now)
}

// InContact says whether steps of this hub may begin: it cannot have given them to others yet.
func (l *Link) InContact(now time.Time) bool {
	return l.State == Open && now.Sub(l.Contact) < l.fence()
}

// SetCredits says how many steps of this hub are held at most.
func (l *Link) SetCredits(credits int) {
	if credits == l.credits {
		return
	}
	l.credits = credits
	if l.State == Open {
		l.send(&Credit{l.nextSeq(), credits})
	}
}

// Progress tells how far a step is.
func (l *Link) Progress(progress *Progress) {
	if l.State == Open {
		l.send(progress)
	}
}

// Beat lets the hub know at once what is held here.
func (l *Link) Beat(now time.Time) {
	if l.State != Open {
		return
	}
	seq := l.nextSeq()
	l.beaten, l.unanswered[seq] = now, now
	l.send(&Heartbeat{Seq: seq, Credits: l.credits, InFlight: l.listed()})
}

// Cut says that the connection is gone, and the session with it.
func (l *Link) Cut(reason string) { l.leave(reason) }

// Refuse says that the connection was not let in: nothing that is said here would be heard.
func (l *Link) Refuse(reason string) {
	if l.State != Refused {
		l.State = Refused
		l.Actions = append(l.Actions, Parted{reason})
	}
}

// Bye says that the worker leaves.
func (l *Link) Bye(reason string) {
	if l.State == Open {
		l.send(&Bye{reason})
	}
}

// Tick sends what is due.
func (l *Link) Tick(now time.Time) {
	switch l.State {
	case Greeting:
		if now.Sub(l.opened) >= l.fence() {
			l.leave("no answer to hello")
		} else if now.Sub(l.greeted) >= resendHello {
			l.greet(now)
		}
	case Open:
		if silence := now.Sub(l.Contact); silence >= l.fence() {
			l.leave(fmt.Sprintf("no answer for %.1f s", silence.Seconds()))
			return
		}
		if now.Sub(l.beaten) >= l.heartbeat {
			l.Beat(now)
		}
		l.report.due(l.mine(), now)
	}
}

// NextDue is when Tick has something to do again, if nothing else happens before.
func (l *Link) NextDue() time.Time {
	switch l.State {
	case Greeting:
		return earlier(l.greeted.Add(resendHello), l.opened.Add(l.fence()))
	case Open:
		return earlier(earlier(l.beaten.Add(l.heartbeat), l.Contact.Add(l.fence())), l.report.next(l.mine()))
	}
	return Later
}

// Receive takes a message.
func (l *Link) Receive(frames [][]byte, now time.Time) {
	session, message, err := Unpack(frames)
	var unknown *UnknownKind
	switch {
	case errors.As(err, &unknown):
		if l.State == Open && session == l.session {
			l.complain(err.Error())
		}
	case err != nil:
		l.OverLimit = l.OverLimit || errors.Is(err, ErrOverLimit)
		l.broken(err.Error())
	default:
		l.take(session, message, now)
	}
}

func (l *Link) take(session string, message Message, now time.Time) {
	switch message := message.(type) {
	case *Welcome:
		l.welcomed(message, now)
		return
	case *Error:
		l.refused(message, session)
		return
	}
	if l.State != Open || session != l.session {
		return
	}
	switch message := message.(type) {
	case *Steps:
		l.steps(message, now)
	case *Ack:
		l.drop(message.Tokens, "its result has been taken")
	case *Heartbeat:
		l.answered(message)
	case *Started:
		l.started(message)
	case *Cancel:
		l.cancel(message)
	case *Logged:
		l.holdings.Logged(message.Token, message.Next)
	case *Drain:
		l.Actions = append(l.Actions, DrainAsked{message.Reason})
	case *Bye:
		l.State = Closed
		l.Actions = append(l.Actions, Parted{message.Reason})
	default:
		l.complain(message.Kind() + " is not for a worker")
	}
}

func (l *Link) greet(now time.Time) {
	l.greeted = now
	hello := l.hello
	hello.Seq, hello.Credits, hello.InFlight = l.Greeting, l.credits, l.listed()
	if frames, err := Pack(&hello, ""); err == nil {
		l.Outbox = append(l.Outbox, frames)
	}
}

func (l *Link) mine() []*Holding {
	return l.holdings.Select(func(each *Holding) bool { return each.Hub == l.Hub || l.orphan(each) })
}

func (l *Link) listed() []Held {
	mine := l.mine()
	held := make([]Held, len(mine))
	for index, each := range mine {
		held[index] = Held{each.Token(), each.State}
	}
	return held
}

func (l *Link) leave(reason string) {
	if l.State == Greeting || l.State == Open {
		l.State = Closed
		l.Actions = append(l.Actions, Reconnect{reason})
	}
}

func (l *Link) broken(reason string) {
	l.Malformed++
	l.leave(reason)
}

func (l *Link) complain(message string) {
	l.send(&Error{Code: "unknown_message", Message: message, Retry: true})
}

// send says whether it was sent: the hub closes a connection on which more comes than it takes.
func (l *Link) send(message Message) bool {
	frames, err := Pack(message, l.session)
	if err != nil || int64(len(frames[2])+envelopeBytes) > l.maxBytes {
		return false
	}
	l.Outbox = append(l.Outbox, frames)
	return true
}

func (l *Link) nextSeq() int64 {
	l.seq++
	return l.seq
}

// fence is the time without an answer after which nothing begins.
func (l *Link) fence() time.Duration { return l.Lease / 10 * 8 }
