package worker

import (
	"log"
	"math/rand"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	initialBackoff = 100 * time.Millisecond
	maxBackoff     = 5 * time.Second
	// Messages that are processed at a time, so that other connections are not delayed.
	maxMessagesAtOnce = 256
	// The time after which no further message is processed at a time.
	receiveTimeout = 100 * time.Millisecond
	// The time that the last messages have to go out to a connected hub.
	closeTimeout = time.Second
)

// connection is one address: its socket while there is one, its session, and the time of the next connection.
type connection struct {
	address       string
	discovered    bool // a hub has named the address; it is not configured
	session       *wire.WorkerSession
	open          func(address string) (*dealer, error)
	logger        *log.Logger
	dealer        *dealer
	failureLogged bool // a failure is logged once; libzmq keeps reconnecting
	failures      int
	retryAt       time.Time
}

func (c *connection) isOpen() bool { return c.session.State == wire.Open }

// receive processes what has arrived.
func (c *connection) receive(now time.Time) error {
	if c.dealer == nil && !now.Before(c.retryAt) && c.session.State != wire.Refused {
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
	ends := time.Now().Add(receiveTimeout)
	for count := 0; count < maxMessagesAtOnce && time.Now().Before(ends); count++ {
		frames, err := c.dealer.socket.Receive()
		if err == zmq.ErrAgain {
			return nil
		}
		if err != nil {
			return err
		}
		c.session.Receive(frames, now)
	}
	return nil
}

// watch processes the events of the socket monitor.
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
			// The hub identifies a session by its connection, which libzmq would replace.
			c.session.ConnectionLost("the connection is gone")
		case zmq.HandshakeRefused:
			c.session.Refuse("key_refused: the hub does not know this worker's key")
		default:
			if !c.failureLogged {
				c.logger.Printf("hub %s: the encrypted connection fails; is the server key the hub's?", c.address)
			}
			c.failureLogged = true
		}
	}
}

func (c *connection) connect(now time.Time) error {
	made, err := c.open(c.address)
	if err != nil {
		if c.discovered {
			// A hub has named an address that cannot be used here.
			c.retryAt = wire.Later
			return nil
		}
		return err
	}
	c.dealer = made
	c.session.Open(now)
	return nil
}

// flush sends what is new about changed steps, and what is due. A full queue drops messages: the session repeats what
// matters.
func (c *connection) flush(changed []*wire.HeldStep, now time.Time) {
	c.session.Report(changed, now)
	c.session.Tick(now)
	for _, frames := range c.session.Outbox {
		if c.dealer != nil {
			_ = c.dealer.socket.Send(frames)
		}
	}
	c.session.Outbox = nil
}

func (c *connection) nextDue() time.Time {
	switch {
	case c.dealer != nil:
		return c.session.NextDue()
	case c.session.State == wire.Refused:
		return wire.Later
	}
	return c.retryAt
}

// scheduleReconnect schedules another socket after a backoff that grows, with jitter, and returns the backoff.
func (c *connection) scheduleReconnect(now time.Time) time.Duration {
	c.close(0)
	backoff := maxBackoff
	if c.failures < 6 {
		backoff = initialBackoff << c.failures
	}
	c.failures++
	backoff = time.Duration(float64(backoff) * (0.5 + rand.Float64()/2))
	c.retryAt = now.Add(backoff)
	return backoff
}

// retire closes the connection for good.
func (c *connection) retire() {
	c.close(0)
	c.retryAt = wire.Later
}

// close closes the socket; messages to a connected hub have linger to go out.
func (c *connection) close(linger time.Duration) {
	if c.dealer == nil {
		return
	}
	if !c.isOpen() {
		linger = 0
	}
	c.dealer.close(linger)
	c.dealer = nil
}
