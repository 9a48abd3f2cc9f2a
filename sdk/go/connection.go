package worker

import (
	"log"
	"math/rand"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// So many messages at a time: other connections, and handlers, have their turn.
	mostAtOnce = 256
	// The next message of a turn is taken only before that.
	turnTime = 100 * time.Millisecond
	// So long what was said last has to go out, to a hub that is there.
	lastWords = time.Second
)

// connection is one address: its socket while there is one, its link, and when to try again.
type connection struct {
	address    string
	discovered bool // a hub told of it; nobody asked for it by name
	link       *wire.Link
	open       func(address string) (*dealer, error)
	logger     *log.Logger
	dealer     *dealer
	said       bool // that the connection fails; it is tried again and again, and once is enough
	failures   int
	retryAt    time.Time
}

func (c *connection) isOpen() bool { return c.link.State == wire.Open }

// turn takes what has come.
func (c *connection) turn(now time.Time) error {
	if c.dealer == nil && !now.Before(c.retryAt) && c.link.State != wire.Refused {
		if err := c.connect(now); err != nil {
			return err
		}
	}
	if c.dealer == nil {
		return nil
	}
	if err := c.watch(); err != nil {
		return err
	}
	ends := time.Now().Add(turnTime)
	for count := 0; count < mostAtOnce && time.Now().Before(ends); count++ {
		frames, err := c.dealer.socket.Receive()
		if err == zmq.ErrAgain {
			return nil
		}
		if err != nil {
			return err
		}
		c.link.Receive(frames, now)
	}
	return nil
}

// watch hears what has become of the connection itself.
func (c *connection) watch() error {
	for {
		event, err := c.dealer.monitor.Event()
		if err == zmq.ErrAgain {
			return nil
		}
		if err != nil {
			return err
		}
		switch event {
		case zmq.Disconnected:
			// The hub knows a connection, not a socket: over the next one it would not know the session.
			c.link.Cut("the connection is gone")
		case zmq.HandshakeRefused:
			c.link.Refuse("key_refused: the hub does not know this worker's key")
		default:
			if !c.said {
				c.logger.Printf("hub %s: the encrypted connection fails; is the server key the hub's?", c.address)
			}
			c.said = true
		}
	}
}

func (c *connection) connect(now time.Time) error {
	made, err := c.open(c.address)
	if err != nil {
		if c.discovered {
			// A hub told of an address that cannot be used here.
			c.retryAt = wire.Later
			return nil
		}
		return err
	}
	c.dealer = made
	c.link.Open(now)
	return nil
}

// flush says what is due. A full queue takes nothing, and everything that matters is said again.
func (c *connection) flush(now time.Time) {
	c.link.Tick(now)
	for _, frames := range c.link.Outbox {
		if c.dealer != nil {
			_ = c.dealer.socket.Send(frames)
		}
	}
	c.link.Outbox = nil
}

func (c *connection) nextDue() time.Time {
	switch {
	case c.dealer != nil:
		return c.link.NextDue()
	case c.link.State == wire.Refused:
		return wire.Later
	}
	return c.retryAt
}

// tryAgain makes another socket after a pause that grows; not all workers do it at the same moment.
func (c *connection) tryAgain(now time.Time) time.Duration {
	c.close(0)
	pause := longestPause
	if c.failures < 6 {
		pause = firstPause << c.failures
	}
	c.failures++
	pause = time.Duration(float64(pause) * (0.5 + rand.Float64()/2))
	c.retryAt = now.Add(pause)
	return pause
}

// retire closes it for good: it is of no use any more, whoever still has it.
func (c *connection) retire() {
	c.close(0)
	c.retryAt = wire.Later
}

// close closes the socket; what was said last to a hub that is there may still go out, for so long.
func (c *connection) close(last time.Duration) {
	if c.dealer == nil {
		return
	}
	if !c.isOpen() {
		last = 0
	}
	c.dealer.close(last)
	c.dealer = nil
}
