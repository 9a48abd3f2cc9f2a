package wire

import (
	"fmt"
	"time"
)

const (
	// New lines do not wait longer for the acknowledgement of those before.
	flushInterval  = 500 * time.Millisecond
	maxLinesAtOnce = 1_000
	lineOverhead   = 40
	// Text of lines fills one part in so many of a message: escaping adds to it.
	textDivisor = 8
)

// report sends what is due about held steps: requests to start, lines and results, each repeated until it is
// acknowledged. send returns false for a message over the size limit.
type report struct {
	resend   time.Duration
	maxBytes int64
	send     func(Message) bool
}

func (r *report) due(heldSteps []*HeldStep, now time.Time) {
	r.sendStart(heldSteps, now)
	for _, each := range heldSteps {
		if len(each.lines) > 0 {
			r.sendLines(each, now)
		}
	}
	var batches []string
	ended := map[string][]*HeldStep{}
	for _, each := range heldSteps {
		if each.Result == nil || now.Sub(each.resultSentAt) < r.resend {
			continue
		}
		if ended[each.BatchID] == nil {
			batches = append(batches, each.BatchID)
		}
		ended[each.BatchID] = append(ended[each.BatchID], each)
		each.resultSentAt = now
	}
	for _, batch := range batches {
		r.sendResults(batch, ended[batch])
	}
}

// next returns the time at which due has something to send again.
func (r *report) next(heldSteps []*HeldStep) time.Time {
	due := Later
	for _, each := range heldSteps {
		if each.needsStart() {
			due = earlier(due, each.startSentAt.Add(r.resend))
		}
		if each.Result != nil {
			due = earlier(due, each.resultSentAt.Add(r.resend))
		}
		if len(each.lines) > 0 {
			due = earlier(due, r.linesDue(each))
		}
	}
	return due
}

func (r *report) sendStart(heldSteps []*HeldStep, now time.Time) {
	var waiting []string
	for _, each := range heldSteps {
		if each.needsStart() && now.Sub(each.startSentAt) >= r.resend {
			each.startSentAt = now
			waiting = append(waiting, each.Token())
		}
	}
	if len(waiting) > 0 {
		r.send(&Start{waiting})
	}
}

func (r *report) linesDue(heldStep *HeldStep) time.Time {
	switch {
	case heldStep.unacknowledgedLines == 0:
		return time.Time{}
	case len(heldStep.lines) > heldStep.unacknowledgedLines && flushInterval < r.resend:
		return heldStep.linesSentAt.Add(flushInterval)
	}
	return heldStep.linesSentAt.Add(r.resend)
}

// sendLines sends the lines that are due; before a result is first sent, all of them.
func (r *report) sendLines(heldStep *HeldStep, now time.Time) {
	beforeResult := heldStep.Result != nil && len(heldStep.lines) > heldStep.unacknowledgedLines && heldStep.resultSentAt.IsZero()
	if !beforeResult && now.Before(r.linesDue(heldStep)) {
		return
	}
	from := 0
	for {
		some := r.fitting(heldStep.lines[from:])
		r.send(&Log{heldStep.Token(), heldStep.offset + from, some})
		from += len(some)
		if heldStep.Result == nil || from >= len(heldStep.lines) {
			break
		}
	}
	heldStep.linesSentAt, heldStep.unacknowledgedLines = now, from
}

func (r *report) fitting(lines []Line) []Line {
	size := int64(0)
	for count, line := range lines {
		size += int64(len(line.Text) + lineOverhead)
		if count == maxLinesAtOnce || (count > 0 && size > r.maxBytes/textDivisor) {
			return lines[:count]
		}
	}
	return lines
}

// sendResults divides a message over the size limit. A single result that is too large becomes a failure.
func (r *report) sendResults(batchID string, ended []*HeldStep) {
	results := make([]Result, len(ended))
	for index, each := range ended {
		results[index] = *each.Result
	}
	if r.send(&Results{batchID, Version, results}) {
		return
	}
	if len(ended) > 1 {
		r.sendResults(batchID, ended[:len(ended)/2])
		r.sendResults(batchID, ended[len(ended)/2:])
		return
	}
	result := r.tooLarge(ended[0])
	ended[0].Result = result
	r.send(&Results{batchID, Version, []Result{*result}})
}

func (r *report) tooLarge(heldStep *HeldStep) *Result {
	message := fmt.Sprintf("its result is %d bytes; a message may have %d: return a path or an address",
		len(heldStep.Result.Output), r.maxBytes)
	result := Failed(heldStep.Step, StepError{Type: "TooLarge", Message: message})
	result.Metadata.ExecutionTimeMS = heldStep.Result.Metadata.ExecutionTimeMS
	result.Metadata.HandlerVersion = heldStep.Result.Metadata.HandlerVersion
	result.Metadata.Retryable = false
	return result
}
