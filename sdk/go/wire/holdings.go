package wire

import (
	"container/list"
	"strings"
	"time"
)

const (
	// Tokens that are finished and known to be.
	remembered = 20_000
	// Lines of one attempt that wait for their acknowledgement; what comes then is dropped, and the last line says so.
	mostLines   = 10_000
	longestLine = 64 * 1024
)

// Holding is one step that a worker has in hand. The zero Time means never.
type Holding struct {
	Step    *Step
	BatchID string
	Hub     string // who gave it
	State   State
	Granted bool // may begin: it needs no leave, or has it
	Asks    bool // there is a place for it: leave may be asked for
	Result  *Result

	arrived, asked, sent, linesSent time.Time
	lines                           []Line
	offset                          int // lines before these
	linesOut                        int // of these, under way
	full                            bool
}

// Token is what the step is known by.
func (h *Holding) Token() string { return h.Step.Metadata.Token }

// asking says whether it needs leave to begin, and could begin now.
func (h *Holding) asking() bool { return h.State == Waiting && h.Asks && !h.Granted }

// Deadline is when nobody would want its result any more, if there is such a time.
func (h *Holding) Deadline() (time.Time, bool) {
	limit := h.Step.Metadata.DeadlineMS
	if limit == nil {
		return time.Time{}, false
	}
	return h.arrived.Add(milliseconds(*limit)), true
}

// forgetSending makes everything due again: a new session has heard nothing yet.
func (h *Holding) forgetSending() {
	h.asked, h.sent, h.linesSent, h.linesOut = time.Time{}, time.Time{}, time.Time{}, 0
}

// Holdings is what a worker has in hand, over all its hubs, in the order of arrival. A token begins once; its result
// stays until somebody has it.
type Holdings struct {
	order    *list.List
	table    map[string]*list.Element
	finished map[string]struct{}
	ring     []string // the finished tokens, the oldest at next
	next     int
}

// NewHoldings is empty hands.
func NewHoldings() *Holdings {
	return &Holdings{order: list.New(), table: map[string]*list.Element{}, finished: map[string]struct{}{}}
}

// Len is how many steps there are.
func (h *Holdings) Len() int { return h.order.Len() }

// Get is the holding of a token, nil if there is none.
func (h *Holdings) Get(token string) *Holding {
	if found, ok := h.table[token]; ok {
		return found.Value.(*Holding)
	}
	return nil
}

// Select is every holding of which keep is true.
func (h *Holdings) Select(keep func(*Holding) bool) []*Holding {
	var found []*Holding
	for each := h.order.Front(); each != nil; each = each.Next() {
		if holding := each.Value.(*Holding); keep(holding) {
			found = append(found, holding)
		}
	}
	return found
}

// Take says whether the step is new: a token that is here, or was, does not begin again.
func (h *Holdings) Take(step *Step, batchID, hub string, now time.Time) bool {
	token := step.Metadata.Token
	_, here := h.table[token]
	_, was := h.finished[token]
	if here || was {
		return false
	}
	holding := &Holding{Step: step, BatchID: batchID, Hub: hub, State: Waiting, arrived: now}
	holding.Granted = !step.Metadata.ConfirmStart
	h.table[token] = h.order.PushBack(holding)
	return true
}

// Finish sets a step's result; the first one counts.
func (h *Holdings) Finish(token string, result *Result) {
	if holding := h.Get(token); holding != nil && holding.Result == nil {
		holding.Result, holding.State, holding.sent = result, Done, time.Time{}
	}
}

// GiveBack ends a step that will not begin here.
func (h *Holdings) GiveBack(token, reason string) {
	if holding := h.Get(token); holding != nil {
		h.Finish(token, Unable(holding.Step, Returned, reason))
	}
}

// Forget drops what nobody asks for any more, and returns those that were running.
func (h *Holdings) Forget(tokens []string) []string {
	var running []string
	for _, token := range tokens {
		if holding := h.Get(token); holding != nil {
			if holding.State == Running {
				running = append(running, token)
			}
			h.order.Remove(h.table[token])
			delete(h.table, token)
		}
		h.remember(token)
	}
	return running
}

func (h *Holdings) remember(token string) {
	if _, ok := h.finished[token]; ok {
		return
	}
	h.finished[token] = struct{}{}
	if len(h.ring) < remembered {
		h.ring = append(h.ring, token)
		return
	}
	delete(h.finished, h.ring[h.next])
	h.ring[h.next] = token
	h.next = (h.next + 1) % remembered
}

// Say adds a line that a step's handler wrote.
func (h *Holdings) Say(token, stream, text string) {
	holding := h.Get(token)
	if holding == nil || holding.full {
		return
	}
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "") + "…"
	}
	line := Line{stream, text}
	if len(holding.lines) >= mostLines {
		holding.full = true
		line = Line{"log", "… lines are missing here …"}
	}
	holding.lines = append(holding.lines, line)
}

// Logged notes that the hub has all lines before next.
func (h *Holdings) Logged(token string, next int) {
	holding := h.Get(token)
	if holding == nil {
		return
	}
	count := next - holding.offset
	if count > len(holding.lines) {
		count = len(holding.lines)
	}
	if count > 0 {
		holding.lines = append([]Line(nil), holding.lines[count:]...)
		holding.offset += count
		holding.linesOut, holding.full, holding.linesSent = 0, false, time.Time{}
	}
}
