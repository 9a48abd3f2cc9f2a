package wire

import (
	"fmt"
	"time"
)

const (
	// New lines do not wait longer for the answer to those before.
	flushLines      = 500 * time.Millisecond
	mostLinesAtOnce = 1_000
	aroundLine      = 40
	// Of what a message may hold, so much is text of lines: the rest is for what escaping adds.
	shareOfText = 8
)

// report says what a hub has to hear about the steps in hand, and when again: questions, lines and results are repeated
// until they are answered. send tells whether the hub takes a message of this size.
type report struct {
	resend   time.Duration
	maxBytes int64
	send     func(Message) bool
}

func (r *report) due(holdings []*Holding, now time.Time) {
	r.ask(holdings, now)
	for _, each := range holdings {
		if len(each.lines) > 0 {
			r.tellLines(each, now)
		}
	}
	var batches []string
	ended := map[string][]*Holding{}
	for _, each := range holdings {
		if each.Result == nil || now.Sub(each.sent) < r.resend {
			continue
		}
		if ended[each.BatchID] == nil {
			batches = append(batches, each.BatchID)
		}
		ended[each.BatchID] = append(ended[each.BatchID], each)
		each.sent = now
	}
	for _, batch := range batches {
		r.answer(batch, ended[batch])
	}
}

// next is when due has something to say again.
func (r *report) next(holdings []*Holding) time.Time {
	due := Later
	for _, each := range holdings {
		if each.asking() {
			due = earlier(due, each.asked.Add(r.resend))
		}
		if each.Result != nil {
			due = earlier(due, each.sent.Add(r.resend))
		}
		if len(each.lines) > 0 {
			due = earlier(due, r.linesDue(each))
		}
	}
	return due
}

func (r *report) ask(holdings []*Holding, now time.Time) {
	var asking []string
	for _, each := range holdings {
		if each.asking() && now.Sub(each.asked) >= r.resend {
			each.asked = now
			asking = append(asking, each.Token())
		}
	}
	if len(asking) > 0 {
		r.send(&Start{asking})
	}
}

func (r *report) linesDue(holding *Holding) time.Time {
	switch {
	case holding.linesOut == 0:
		return time.Time{}
	case len(holding.lines) > holding.linesOut && flushLines < r.resend:
		return holding.linesSent.Add(flushLines)
	}
	return holding.linesSent.Add(r.resend)
}

// tellLines sends lines. Those that are still here when the result goes are sent before it, all of them.
func (r *report) tellLines(holding *Holding, now time.Time) {
	lastWord := holding.Result != nil && len(holding.lines) > holding.linesOut && holding.sent.IsZero()
	if !lastWord && now.Before(r.linesDue(holding)) {
		return
	}
	from := 0
	for {
		some := r.portion(holding.lines[from:])
		r.send(&Log{holding.Token(), holding.offset + from, some})
		from += len(some)
		if holding.Result == nil || from >= len(holding.lines) {
			break
		}
	}
	holding.linesSent, holding.linesOut = now, from
}

func (r *report) portion(lines []Line) []Line {
	size := int64(0)
	for count, line := range lines {
		size += int64(len(line.Text) + aroundLine)
		if count == mostLinesAtOnce || (count > 0 && size > r.maxBytes/shareOfText) {
			return lines[:count]
		}
	}
	return lines
}

// answer sends results. A message that the hub would not take is divided; a single result that is too large becomes a
// failure.
func (r *report) answer(batchID string, ended []*Holding) {
	results := make([]Result, len(ended))
	for index, each := range ended {
		results[index] = *each.Result
	}
	if r.send(&Results{batchID, Version, results}) {
		return
	}
	if len(ended) > 1 {
		r.answer(batchID, ended[:len(ended)/2])
		r.answer(batchID, ended[len(ended)/2:])
		return
	}
	result := r.tooLarge(ended[0])
	ended[0].Result = result
	r.send(&Results{batchID, Version, []Result{*result}})
}

func (r *report) tooLarge(holding *Holding) *Result {
	message := fmt.Sprintf("its result is %d bytes; a message may have %d: return a path or an address",
		len(holding.Result.Output), r.maxBytes)
	result := Failed(holding.Step, StepError{Type: "TooLarge", Message: message})
	result.Metadata.ExecutionTimeMS = holding.Result.Metadata.ExecutionTimeMS
	result.Metadata.HandlerVersion = holding.Result.Metadata.HandlerVersion
	result.Metadata.Retryable = false
	return result
}
