package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

var noon = time.Unix(1000, 0)

// after returns the credits of a worker with so many slots at this tick, when so many steps have ended since the last
// and handlers ran all the time.
func after(p *prefetch, ended, slots, ticks int) int {
	return afterBusy(p, tickInterval, ended, slots, ticks)
}

func afterBusy(p *prefetch, busy time.Duration, ended, slots, ticks int) int {
	now := noon.Add(time.Duration(ticks) * tickInterval)
	p.busy(true, now.Add(-busy))
	p.busy(false, now)
	p.ended += ended
	p.tick(slots, now)
	return p.credits(slots)
}

func TestAWorkerThatKnowsNothingAsksForTwiceItsSlots(t *testing.T) {
	if credits := after(&prefetch{}, 0, 8, 0); credits != 16 {
		t.Error(credits)
	}
}

func TestNothingIsPrefetchedBehindLongHandlers(t *testing.T) {
	p := &prefetch{}
	after(p, 0, 8, 0)
	for tick := 1; tick < 50; tick++ {
		// Eight slots, half a second each.
		if credits := after(p, 3, 8, tick); credits != 16 {
			t.Fatalf("%d at tick %d", credits, tick)
		}
	}
}

func TestQuickStepsArePrefetchedAndTheLessTheLongerNoneHasEnded(t *testing.T) {
	p := &prefetch{}
	after(p, 0, 8, 0)
	last := after(p, 100, 8, 1)
	if last != 108 {
		t.Errorf("%d after a hundred", last)
	}
	for tick := 2; tick < 20; tick++ {
		credits := after(p, 0, 8, tick)
		if credits > last {
			t.Errorf("%d after %d", credits, last)
		}
		last = credits
	}
	if last != 16 || p.nextDue(true) != wire.Later {
		t.Errorf("%d at the end, and the next tick at %v", last, p.nextDue(true))
	}
}

func TestAWorkerThatWaitsForItsHubAsksForWhatItWouldGetThrough(t *testing.T) {
	if credits := afterBusy(&prefetch{}, tickInterval/2, 100, 8, 1); credits != 16+192 {
		t.Error(credits)
	}
	if credits := afterBusy(&prefetch{}, tickInterval/20, 100, 8, 1); credits != 16+maxGrowth*100-8 {
		t.Errorf("%d at most", credits)
	}
}

func TestAWorkerThatIsSeldomUsedAsksForLittleHoweverQuickItsHandlersAre(t *testing.T) {
	if credits := afterBusy(&prefetch{}, time.Millisecond, 2, 8, 1); credits != 16 {
		t.Error(credits)
	}
}

func TestPrefetchingHasABound(t *testing.T) {
	p := &prefetch{}
	after(p, 0, 8, 0)
	if credits := after(p, 1_000_000, 8, 1); credits != 16+maxAhead {
		t.Error(credits)
	}
	if credits := p.credits(0); credits != 0 {
		t.Errorf("%d without slots", credits)
	}
}

func TestPrefetchedStepsThatWaitForLongAreForOthers(t *testing.T) {
	heldSteps := wire.NewHeldSteps()
	for number := 0; number < 10; number++ {
		step := &wire.Step{Metadata: wire.Metadata{Token: fmt.Sprint(number), ConfirmStart: number == 3}}
		heldSteps.Add(step, "b", "hub", noon.Add(time.Duration(number)*100*time.Millisecond))
	}
	heldSteps.RequestStart(heldSteps.Get("3"))
	found := ""
	for _, each := range waitTooLong(heldSteps, 2, noon.Add(returnTimeout+450*time.Millisecond)) {
		found += each.Token()
	}
	if found != "24" {
		t.Error(found)
	}
}
