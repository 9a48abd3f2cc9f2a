package wire

import (
	"container/list"
	"strings"
	"time"
)

const (
	// Finished tokens that are remembered.
	maxRemembered = 20_000
	// Lines of one attempt that wait for their acknowledgement; further lines are dropped, and the last line says so.
	maxLines     = 10_000
	maxLineBytes = 64 * 1024
)

// HeldStep is one step that a worker holds. The zero Time means never.
type HeldStep struct {
	Step        *Step
	BatchID     string
	Hub         string // the hub that gave it
	State       State
	Granted     bool // may begin: needs no leave, or has it
	StartWanted bool // a slot is free for it: leave to begin may be requested
	Result      *Result

	waiting                                            *list.Element // its place among those that wait
	changed                                            bool          // it has news for its hub
	receivedAt, startSentAt, resultSentAt, linesSentAt time.Time
	lines                                              []Line
	offset                                             int // lines that the hub has acknowledged
	unacknowledgedLines                                int // lines that were sent and are not acknowledged
	full                                               bool
}

// Token returns the token of the step.
func (h *HeldStep) Token() string { return h.Step.Metadata.Token }

// needsStart returns whether the step needs leave to begin and could begin now.
func (h *HeldStep) needsStart() bool { return h.State == Waiting && h.StartWanted && !h.Granted }

// IsLate returns whether the deadline of the step has passed: its result is not needed, so it need not begin.
func (h *HeldStep) IsLate(now time.Time) bool {
	limit := h.Step.Metadata.DeadlineMS
	return limit != nil && now.Sub(h.receivedAt) >= milliseconds(*limit)
}

// resetSent makes everything due again, for a new session.
func (h *HeldStep) resetSent() {
	h.startSentAt, h.resultSentAt, h.linesSentAt, h.unacknowledgedLines = time.Time{}, time.Time{}, time.Time{}, 0
}

// WaitedFor returns how long ago the step was received.
func (h *HeldStep) WaitedFor(now time.Time) time.Duration { return now.Sub(h.receivedAt) }

// HeldSteps holds the steps of a worker over all its hubs, in the order of arrival. A token begins once; its result
// stays until it is acknowledged.
type HeldSteps struct {
	order    *list.List
	table    map[string]*list.Element
	waiting  *list.List // those that have not begun
	changed  []*HeldStep
	done     int
	finished map[string]struct{}
	ring     []string // the finished tokens, the oldest at next
	next     int
}

// NewHeldSteps returns an empty HeldSteps.
func NewHeldSteps() *HeldSteps {
	return &HeldSteps{
		order: list.New(), table: map[string]*list.Element{}, waiting: list.New(), finished: map[string]struct{}{},
	}
}

// Len returns the number of steps.
func (h *HeldSteps) Len() int { return h.order.Len() }

// Unacknowledged returns the number of steps with a result.
func (h *HeldSteps) Unacknowledged() int { return h.done }

// EachWaiting calls act for the steps that have not begun, in the order of arrival, until act returns false. The step
// may stop waiting meanwhile.
func (h *HeldSteps) EachWaiting(act func(*HeldStep) bool) {
	for each := h.waiting.Front(); each != nil; {
		next := each.Next()
		if !act(each.Value.(*HeldStep)) {
			return
		}
		each = next
	}
}

// TakeChanged returns the steps that have a result, lines or a wish to begin which their hub may not have been sent,
// and were not returned before.
func (h *HeldSteps) TakeChanged() []*HeldStep {
	changed := h.changed
	h.changed = nil
	for _, each := range changed {
		each.changed = false
	}
	return changed
}

func (h *HeldSteps) change(heldStep *HeldStep) {
	if !heldStep.changed {
		heldStep.changed = true
		h.changed = append(h.changed, heldStep)
	}
}

// Get returns the step of a token, nil if there is none.
func (h *HeldSteps) Get(token string) *HeldStep {
	if found, ok := h.table[token]; ok {
		return found.Value.(*HeldStep)
	}
	return nil
}

// Select returns the steps for which keep returns true.
func (h *HeldSteps) Select(keep func(*HeldStep) bool) []*HeldStep {
	var found []*HeldStep
	for each := h.order.Front(); each != nil; each = each.Next() {
		if heldStep := each.Value.(*HeldStep); keep(heldStep) {
			found = append(found, heldStep)
		}
	}
	return found
}

// Add adds a step and returns whether it is new: a token that is held, or was, does not begin again.
func (h *HeldSteps) Add(step *Step, batchID, hub string, now time.Time) bool {
	token := step.Metadata.Token
	_, here := h.table[token]
	_, was := h.finished[token]
	if here || was {
		return false
	}
	heldStep := &HeldStep{Step: step, BatchID: batchID, Hub: hub, State: Waiting, receivedAt: now}
	heldStep.Granted = !step.Metadata.ConfirmStart
	h.table[token] = h.order.PushBack(heldStep)
	heldStep.waiting = h.waiting.PushBack(heldStep)
	return true
}

// RequestStart is called when a slot is free for a step that needs leave to begin. A granted step counts as begun, even
// if this worker dies.
func (h *HeldSteps) RequestStart(heldStep *HeldStep) {
	if !heldStep.StartWanted {
		heldStep.StartWanted = true
		h.change(heldStep)
	}
}

// Begin is called when the handler of a step is started.
func (h *HeldSteps) Begin(heldStep *HeldStep) {
	heldStep.State = Running
	h.stopWaiting(heldStep)
}

func (h *HeldSteps) stopWaiting(heldStep *HeldStep) {
	if heldStep.waiting != nil {
		h.waiting.Remove(heldStep.waiting)
		heldStep.waiting = nil
	}
}

// Finish sets a step's result; the first one counts.
func (h *HeldSteps) Finish(token string, result *Result) {
	if heldStep := h.Get(token); heldStep != nil && heldStep.Result == nil {
		heldStep.Result, heldStep.State, heldStep.resultSentAt = result, Done, time.Time{}
		h.done++
		h.stopWaiting(heldStep)
		h.change(heldStep)
	}
}

// ReturnStep finishes a step that will not begin here.
func (h *HeldSteps) ReturnStep(token, reason string) {
	if heldStep := h.Get(token); heldStep != nil {
		h.Finish(token, Unable(heldStep.Step, Returned, reason))
	}
}

// Forget removes steps that no hub asks for any more, and returns the tokens that were running.
func (h *HeldSteps) Forget(tokens []string) []string {
	var running []string
	for _, token := range tokens {
		if heldStep := h.Get(token); heldStep != nil {
			switch heldStep.State {
			case Running:
				running = append(running, token)
			case Done:
				h.done--
			}
			h.stopWaiting(heldStep)
			h.order.Remove(h.table[token])
			delete(h.table, token)
		}
		h.remember(token)
	}
	return running
}

func (h *HeldSteps) remember(token string) {
	if _, ok := h.finished[token]; ok {
		return
	}
	h.finished[token] = struct{}{}
	if len(h.ring) < maxRemembered {
		h.ring = append(h.ring, token)
		return
	}
	delete(h.finished, h.ring[h.next])
	h.ring[h.next] = token
	h.next = (h.next + 1) % maxRemembered
}

// AddLine adds a line that a step's handler wrote.
func (h *HeldSteps) AddLine(token, stream, text string) {
	heldStep := h.Get(token)
	if heldStep == nil || heldStep.full {
		return
	}
	if len(text) > maxLineBytes {
		text = strings.ToValidUTF8(text[:maxLineBytes], "") + "…"
	}
	line := Line{stream, text}
	if len(heldStep.lines) >= maxLines {
		heldStep.full = true
		line = Line{"log", "… lines are missing here …"}
	}
	heldStep.lines = append(heldStep.lines, line)
	h.change(heldStep)
}

// AcknowledgeLines drops the lines before next, which the hub has.
func (h *HeldSteps) AcknowledgeLines(token string, next int) {
	heldStep := h.Get(token)
	if heldStep == nil {
		return
	}
	count := next - heldStep.offset
	if count > len(heldStep.lines) {
		count = len(heldStep.lines)
	}
	if count > 0 {
		heldStep.lines = append([]Line(nil), heldStep.lines[count:]...)
		heldStep.offset += count
		heldStep.unacknowledgedLines, heldStep.full, heldStep.linesSentAt = 0, false, time.Time{}
		h.change(heldStep)
	}
}
