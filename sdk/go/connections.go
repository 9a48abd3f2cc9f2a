package worker

import (
	"log"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	// A discovered hub that did not answer so many times in a row is dropped, if there is another.
	maxFailures = 8
	// The time for which such an address is not connected to.
	ignoreTimeout = time.Minute
)

// connections holds the connections of a worker to its hubs, divides its credits among them, and knows which hubs are
// gone.
type connections struct {
	list         []*connection
	aliases      map[*connection][]*connection // retired connections by the one that has the session with their hub
	ignoredUntil map[string]time.Time          // the times until which addresses that gave no answer are not connected to
	kept         map[string]time.Time          // the times until which the steps of each hub remain its own
	openHubs     string                        // the hubs with an open session at the last refresh
	discover     bool                          // whether to connect to the hubs that a hub names
	newSession   func() *wire.WorkerSession
	open         func(address string) (*dealer, error)
	logger       *log.Logger
}

func newConnections(newSession func() *wire.WorkerSession, open func(string) (*dealer, error), logger *log.Logger) *connections {
	return &connections{
		aliases: map[*connection][]*connection{}, ignoredUntil: map[string]time.Time{}, kept: map[string]time.Time{},
		discover: true, newSession: newSession, open: open, logger: logger,
	}
}

func (c *connections) add(address string, discovered bool) {
	for _, each := range c.list {
		if each.address == address {
			return
		}
	}
	c.list = append(c.list, &connection{
		address: address, discovered: discovered, session: c.newSession(), open: c.open, logger: c.logger,
	})
}

// all returns a copy: a round may add and remove connections.
func (c *connections) all() []*connection { return append([]*connection(nil), c.list...) }

func (c *connections) opened() []*connection {
	var found []*connection
	for _, each := range c.list {
		if each.isOpen() {
			found = append(found, each)
		}
	}
	return found
}

func (c *connections) sockets() []*zmq.Socket {
	var found []*zmq.Socket
	for _, each := range c.list {
		if each.dealer != nil {
			found = append(found, each.dealer.socket, each.dealer.monitor)
		}
	}
	return found
}

func (c *connections) allRefused() bool {
	for _, each := range c.list {
		if each.session.State != wire.Refused {
			return false
		}
	}
	return true
}

// sessionOf returns the open session with a hub, else nil.
func (c *connections) sessionOf(hub string) *wire.WorkerSession {
	for _, each := range c.list {
		if each.isOpen() && each.session.Hub == hub {
			return each.session
		}
	}
	return nil
}

// gone returns whether a hub does not own its steps any more: another hub has answered at its address, or it has been
// silent for longer than its lease, so that it has given them to other workers.
func (c *connections) gone(hub string, now time.Time) bool { return now.After(c.kept[hub]) }

// refresh extends the leases of connected hubs, and connects to the hubs that they name. What a hub gave that has no
// session any more is reported to all others.
func (c *connections) refresh(now time.Time) {
	opened := c.opened()
	hubs := ""
	for _, each := range opened {
		hubs += each.session.Hub + "\n"
	}
	if hubs != c.openHubs {
		c.openHubs = hubs
		for _, each := range opened {
			each.session.CheckAll()
		}
	}
	for _, each := range opened {
		c.kept[each.session.Hub] = now.Add(each.session.Lease)
		if c.discover {
			c.follow(each, now)
		}
	}
}

// divide divides credits among the open sessions. A hello offers the share that is left if all hubs answer.
func (c *connections) divide(credits int) {
	opened := c.opened()
	for index, each := range opened {
		each.session.SetCredits(share(credits, len(opened), index))
	}
	for _, each := range c.list {
		if !each.isOpen() {
			each.session.SetCredits(share(credits, len(c.list), len(c.list)-1))
		}
	}
}

func share(credits, count, index int) int {
	if credits == 0 {
		return 0
	}
	part := credits / count
	if index < credits%count {
		part++
	}
	if part == 0 {
		return 1
	}
	return part
}

// welcomed is called when a session is open. Of two connections to one hub only the newer one has a session; the other
// may be closed already.
func (c *connections) welcomed(from *connection, before string) {
	from.failureLogged = false
	if !from.session.OverLimit {
		from.failures = 0
	}
	if before != "" && c.sessionOf(before) == nil {
		delete(c.kept, before)
	}
	if !from.isOpen() {
		return // a message right after the welcome has ended the session
	}
	last := from
	for _, each := range c.opened() {
		if each.session.Hub == from.session.Hub && each.session.HelloSeq > last.session.HelloSeq {
			last = each
		}
	}
	for _, each := range c.all() {
		older := each.session.HelloSeq < last.session.HelloSeq && each.session.State != wire.Refused
		if older && each.session.Hub == last.session.Hub {
			c.retire(each, last)
		}
	}
}

// failed schedules another socket for a lost connection, connects to the other addresses of its hub, and returns the
// backoff.
func (c *connections) failed(from *connection, now time.Time) time.Duration {
	backoff := from.scheduleReconnect(now)
	for _, each := range c.opened() {
		// A hub that takes over the steps of that hub learns at once that they still run here.
		each.session.SendHeartbeat(now)
	}
	for _, each := range c.aliases[from] {
		c.add(each.address, each.discovered)
	}
	delete(c.aliases, from)
	if from.discovered && from.failures > maxFailures && len(c.opened()) > 0 {
		c.ignoredUntil[from.address] = now.Add(ignoreTimeout)
		from.retire()
		c.remove(from)
	}
	return backoff
}

func (c *connections) close() {
	for _, each := range c.list {
		each.close(closeTimeout)
	}
}

func (c *connections) retire(older, newer *connection) {
	older.retire()
	c.remove(older)
	c.aliases[newer] = append(append(c.aliases[newer], older), c.aliases[older]...)
	delete(c.aliases, older)
}

func (c *connections) remove(gone *connection) {
	for index, each := range c.list {
		if each == gone {
			c.list = append(c.list[:index:index], c.list[index+1:]...)
			return
		}
	}
}

// follow connects to the hubs that a hub names, once every other connection has an answer or has failed. An address may
// lead to a hub that is known by another: then one of the two connections is retired.
func (c *connections) follow(from *connection, now time.Time) {
	for _, each := range c.list {
		if !each.isOpen() && each.failures == 0 {
			return
		}
	}
	known := map[string]bool{}
	for _, retired := range c.aliases {
		for _, each := range retired {
			known[each.address] = true
		}
	}
	for _, address := range from.session.Hubs {
		if !known[address] && !now.Before(c.ignoredUntil[address]) {
			c.add(address, true)
		}
	}
}
