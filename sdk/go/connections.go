package worker

import (
	"log"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	// A discovered hub that did not answer so many times in a row is let go, if there is another.
	mostFailures = 8
	// So long such an address is not tried again.
	shunned = time.Minute
)

// connections says which hubs a worker talks to, how it divides its places among them, and which of them are gone.
type connections struct {
	list     []*connection
	aliases  map[*connection][]*connection // those that were retired, since it has the session with their hub
	shunned  map[string]time.Time          // until when addresses that gave no answer are not tried
	kept     map[string]time.Time          // until when each hub keeps what it gave for this worker
	discover bool                          // whether hubs' lists of hubs are followed
	makeLink func() *wire.Link
	open     func(address string) (*dealer, error)
	logger   *log.Logger
}

func newConnections(makeLink func() *wire.Link, open func(string) (*dealer, error), logger *log.Logger) *connections {
	return &connections{
		aliases: map[*connection][]*connection{}, shunned: map[string]time.Time{}, kept: map[string]time.Time{},
		discover: true, makeLink: makeLink, open: open, logger: logger,
	}
}

func (c *connections) add(address string, discovered bool) {
	for _, each := range c.list {
		if each.address == address {
			return
		}
	}
	c.list = append(c.list, &connection{
		address: address, discovered: discovered, link: c.makeLink(), open: c.open, logger: c.logger,
	})
}

// all is a copy: a turn may add connections and take some away.
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
		if each.link.State != wire.Refused {
			return false
		}
	}
	return true
}

// linkOf is the link of a hub that there is a session with, else nil.
func (c *connections) linkOf(hub string) *wire.Link {
	for _, each := range c.list {
		if each.isOpen() && each.link.Hub == hub {
			return each.link
		}
	}
	return nil
}

// gone says whether a hub will not come back for what it gave: another has answered in its place, or it has been away
// for longer than its lease, so that it has given everything to others.
func (c *connections) gone(hub string, now time.Time) bool { return now.After(c.kept[hub]) }

// seen notes who is there, and follows their lists of hubs.
func (c *connections) seen(now time.Time) {
	for _, each := range c.opened() {
		c.kept[each.link.Hub] = now.Add(each.link.Lease)
		if c.discover {
			c.follow(each, now)
		}
	}
}

// divide divides places among the hubs that are there. A hub that is greeted is told what it gets if all come.
func (c *connections) divide(places int) {
	opened := c.opened()
	for index, each := range opened {
		each.link.SetCredits(share(places, len(opened), index))
	}
	for _, each := range c.list {
		if !each.isOpen() {
			each.link.SetCredits(share(places, len(c.list), len(c.list)-1))
		}
	}
}

func share(places, count, index int) int {
	if places == 0 {
		return 0
	}
	part := places / count
	if index < places%count {
		part++
	}
	if part == 0 {
		return 1
	}
	return part
}

// welcomed notes a session. Of two connections to one hub only the one that was made last has it; the other may have
// heard that already, and be closed.
func (c *connections) welcomed(from *connection, before string) {
	from.said = false
	// The next pause is a short one.
	if !from.link.OverLimit {
		from.failures = 0
	}
	if before != "" && c.linkOf(before) == nil {
		delete(c.kept, before)
	}
	if !from.isOpen() {
		return // what came right after the welcome has ended the session again
	}
	last := from
	for _, each := range c.opened() {
		if each.link.Hub == from.link.Hub && each.link.Greeting > last.link.Greeting {
			last = each
		}
	}
	for _, each := range c.all() {
		older := each.link.Greeting < last.link.Greeting && each.link.State != wire.Refused
		if older && each.link.Hub == last.link.Hub {
			c.retire(each, last)
		}
	}
}

// failed notes that a connection is of no use: another socket after a pause, and the other addresses of its hub.
func (c *connections) failed(from *connection, now time.Time) time.Duration {
	pause := from.tryAgain(now)
	for _, each := range c.opened() {
		// Whoever takes over what that hub gave hears at once that it goes on here.
		each.link.Beat(now)
	}
	for _, each := range c.aliases[from] {
		c.add(each.address, each.discovered)
	}
	delete(c.aliases, from)
	if from.discovered && from.failures > mostFailures && len(c.opened()) > 0 {
		c.shunned[from.address] = now.Add(shunned)
		from.retire()
		c.remove(from)
	}
	return pause
}

func (c *connections) close() {
	for _, each := range c.list {
		each.close(lastWords)
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

// follow follows a hub's list of hubs, once no other connection is still finding out who it talks to. An address in it
// may lead to a hub that is known by another: then one of the two connections is retired.
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
	for _, address := range from.link.Hubs {
		if !known[address] && !now.Before(c.shunned[address]) {
			c.add(address, true)
		}
	}
}
