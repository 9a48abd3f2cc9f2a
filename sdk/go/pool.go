package worker

import (
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

// running is a running handler. overdue is the time at which it counts as stuck; wire.Later if it has no limit.
type running struct {
	job     *job
	overdue time.Time
	stuck   bool
}

// pool runs handlers in as many goroutines as the worker has slots. A handler that does not end keeps its slot, so that
// there are never more handlers than slots. Only the loop calls it.
type pool struct {
	slots   int
	grace   time.Duration
	ended   func(token string, result *wire.Result) // called in the goroutine of the handler
	running map[string]*running
	stuck   int
}

func newPool(slots int, grace time.Duration, ended func(string, *wire.Result)) *pool {
	return &pool{slots: slots, grace: grace, ended: ended, running: map[string]*running{}}
}

func (p *pool) free() int { return p.slots - len(p.running) }

// idle returns whether only stuck handlers run.
func (p *pool) idle() bool { return len(p.running) == p.stuck }

func (p *pool) start(j *job) {
	found := &running{job: j, overdue: wire.Later}
	if deadline, ok := j.ctx.Deadline(); ok {
		found.overdue = deadline.Add(p.grace)
	}
	p.running[j.token()] = found
	go func() { p.ended(j.token(), j.run()) }()
}

// release frees the slot of a handler that has ended.
func (p *pool) release(token string) {
	if found := p.running[token]; found != nil {
		if found.stuck {
			p.stuck--
		}
		delete(p.running, token)
	}
}

// stop stops a handler; it has the grace period to end.
func (p *pool) stop(token, reason string, now time.Time) {
	found := p.running[token]
	if found == nil || found.stuck {
		return
	}
	found.job.stop(reason)
	if end := now.Add(p.grace); end.Before(found.overdue) {
		found.overdue = end
	}
}

// stopAll stops all handlers.
func (p *pool) stopAll(reason string) {
	for _, each := range p.running {
		each.job.stop(reason)
	}
}

// tick returns handlers that have just become stuck.
func (p *pool) tick(now time.Time) []*job {
	var found []*job
	for _, each := range p.running {
		if !each.stuck && !now.Before(each.overdue) {
			each.stuck = true
			p.stuck++
			found = append(found, each.job)
		}
	}
	return found
}

func (p *pool) nextDue() time.Time {
	due := wire.Later
	for _, each := range p.running {
		if !each.stuck && each.overdue.Before(due) {
			due = each.overdue
		}
	}
	return due
}
