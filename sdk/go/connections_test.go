package worker

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

// network is connections without sockets, to these addresses.
func network(addresses ...string) *connections {
	numbered := int64(0)
	made := newConnections(func() *wire.WorkerSession {
		next := func() int64 { numbered++; return numbered }
		return wire.NewWorkerSession(wire.Hello{}, wire.NewHeldSteps(), 8, next, func(*wire.HeldStep) bool { return false })
	}, nil, nil)
	for _, address := range addresses {
		made.add(address, false)
	}
	return made
}

// answer lets the connection in at this hub, which lists these hubs.
func (c *connections) answer(from *connection, hub string, hubs ...string) {
	from.session.Open(time.Unix(0, 0))
	from.session.State, from.session.Hub, from.session.Hubs = wire.Open, hub, hubs
	c.welcomed(from, "")
}

func (c *connections) addresses() []string {
	var found []string
	for _, each := range c.list {
		found = append(found, each.address)
	}
	return found
}

func TestOfTwoConnectionsToOneHubTheLastStaysUntilItFails(t *testing.T) {
	found := network("name", "number")
	first, second := found.list[0], found.list[1]
	found.answer(first, "hub")
	found.answer(second, "hub")
	if !reflect.DeepEqual(found.addresses(), []string{"number"}) {
		t.Errorf("%v stay", found.addresses())
	}
	found.failed(second, time.Unix(0, 0))
	if !reflect.DeepEqual(found.addresses(), []string{"number", "name"}) {
		t.Errorf("%v are tried when it failed", found.addresses())
	}
}

func TestOfTwoConnectionsToOneHubTheFirstGoesAlsoIfItHasHeardThatItsSessionIsOver(t *testing.T) {
	found := network("name", "number")
	first, second := found.list[0], found.list[1]
	found.answer(first, "hub")
	first.session.State = wire.Closed
	found.failed(first, time.Unix(0, 0))
	found.answer(second, "hub")
	if !reflect.DeepEqual(found.addresses(), []string{"number"}) {
		t.Errorf("%v stay", found.addresses())
	}
	if first.retryAt != wire.Later {
		t.Error("it would be tried again")
	}
}

func TestTheAddressThatAHubCallsItselfByIsTriedNoMoreOnceItIsKnown(t *testing.T) {
	found := network("alias of one")
	found.answer(found.list[0], "hub", "one", "two")
	found.refresh(time.Unix(0, 0))
	found.answer(found.list[1], "hub", "one", "two")
	found.answer(found.list[1], "another", "one", "two")
	found.refresh(time.Unix(0, 0))
	if !reflect.DeepEqual(found.addresses(), []string{"one", "two"}) {
		t.Errorf("%v", found.addresses())
	}
}

func TestTheHubsOfAWelcomeAreFollowed(t *testing.T) {
	for name, each := range map[string]struct{ hubs, expected []string }{
		"with this one":    {[]string{"one", "two"}, []string{"one", "two"}},
		"without this one": {[]string{"alias of one", "two"}, []string{"one", "alias of one", "two"}},
	} {
		found := network("one")
		found.answer(found.list[0], "hub", each.hubs...)
		found.refresh(time.Unix(0, 0))
		if !reflect.DeepEqual(found.addresses(), each.expected) {
			t.Errorf("%s: %v", name, found.addresses())
		}
	}
}

func TestAHubThatIsGreetedIsOfferedItsShare(t *testing.T) {
	found := network("one", "two")
	found.divide(6)
	for _, each := range found.list {
		each.session.Open(time.Unix(0, 0))
		var hello struct{ Credits int }
		if err := json.Unmarshal(each.session.Outbox[0][2], &hello); err != nil || hello.Credits != 3 {
			t.Errorf("%s is offered %d (%v)", each.address, hello.Credits, err)
		}
	}
}

func TestADiscoveredHubThatNeverAnswersIsLetGo(t *testing.T) {
	found := network("one")
	found.answer(found.list[0], "hub", "one", "two")
	found.refresh(time.Unix(0, 0))
	for count := 0; count <= maxFailures; count++ {
		found.failed(found.list[1], time.Unix(0, 0))
	}
	if !reflect.DeepEqual(found.addresses(), []string{"one"}) {
		t.Errorf("%v", found.addresses())
	}
	found.refresh(time.Unix(59, 0))
	if len(found.list) != 1 {
		t.Error("it is tried again at once")
	}
	found.refresh(time.Unix(60, 0))
	if len(found.list) != 2 {
		t.Error("it is not tried again")
	}
}

func TestASessionThatEndedRightAfterItsWelcomeIsNoSession(t *testing.T) {
	found := network("one")
	found.answer(found.list[0], "hub", "one", "two")
	found.list[0].session.State = wire.Closed
	found.welcomed(found.list[0], "")
	if len(found.opened()) != 0 {
		t.Error("it counts as open")
	}
}

func TestAHubKeepsWhatItGaveForALease(t *testing.T) {
	found := network("one")
	found.answer(found.list[0], "hub")
	now := time.Unix(1000, 0)
	found.refresh(now)
	lease := found.list[0].session.Lease
	if found.gone("hub", now.Add(lease)) || !found.gone("hub", now.Add(lease+1)) || !found.gone("another", now) {
		t.Error("a hub is gone when its lease is over, and not before")
	}
}
