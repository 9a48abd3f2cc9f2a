package worker

import (
	"math"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

const (
	// Credits for each slot, so that the next step is there when a slot becomes free.
	creditsPerSlot = 2
	// The work to prefetch: enough to hide the round trip to the hub and a commit, and too short to matter if another
	// worker could have begun it.
	horizon = 200 * time.Millisecond
	// At most so many times as many as ended since the last tick: a worker that is seldom used prefetches little, however
	// quick its handlers are.
	maxGrowth = 4
	maxAhead  = 512
	// The prefetched share shrinks to no less than this part of itself per tick: loads come in bursts.
	fading       = 0.7
	tickInterval = 200 * time.Millisecond
	// The time after which prefetched steps that still wait are returned to their hub.
	returnTimeout = time.Second
)

// prefetch decides how many steps a worker asks for: twice its slots, and more if steps are quick. It counts the steps
// that end, and the time in which any ran: a worker that waits for its hub has too few. Long handlers end seldom, so
// nothing is prefetched behind them.
type prefetch struct {
	ended     int // steps that have ended since the last tick
	ticked    time.Time
	isBusy    bool
	busySince time.Time
	busyFor   time.Duration // since the last tick
	ahead     float64
}

// busy is called in every round: running is true if any handler runs from now on.
func (p *prefetch) busy(running bool, now time.Time) {
	if p.isBusy {
		p.busyFor += now.Sub(p.busySince)
	}
	p.isBusy, p.busySince = running, now
}

func (p *prefetch) isDue(now time.Time) bool { return now.Sub(p.ticked) >= tickInterval }

func (p *prefetch) tick(slots int, now time.Time) {
	p.busy(p.isBusy, now)
	able := float64(p.ended) * math.Min(maxGrowth, horizon.Seconds()/math.Max(0.001, p.busyFor.Seconds()))
	p.ahead = math.Min(maxAhead, math.Max(able-float64(slots), p.ahead*fading))
	p.ended, p.busyFor, p.ticked = 0, 0, now
}

// credits returns how many steps to ask for in all with so many slots.
func (p *prefetch) credits(slots int) int {
	if slots <= 0 {
		return 0
	}
	return creditsPerSlot*slots + int(p.ahead)
}

// nextDue returns the time of the next tick. A worker that holds nothing needs none, once nothing is prefetched.
func (p *prefetch) nextDue(idle bool) time.Time {
	if idle && p.ahead < 1 {
		return wire.Later
	}
	return p.ticked.Add(tickInterval)
}

// waitTooLong returns prefetched steps that have waited for returnTimeout. As many as there are slots may wait without
// limit, and so may those that have asked for leave to begin.
func waitTooLong(heldSteps *wire.HeldSteps, slots int, now time.Time) []*wire.HeldStep {
	var found []*wire.HeldStep
	heldSteps.EachWaiting(func(each *wire.HeldStep) bool {
		slots--
		if slots < 0 && !each.StartWanted && each.WaitedFor(now) > returnTimeout {
			found = append(found, each)
		}
		return true
	})
	return found
}
