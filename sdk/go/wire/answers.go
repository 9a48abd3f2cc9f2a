package wire

import "time"

// What a link does with what its hub says.

func (l *Link) welcomed(message *Welcome, now time.Time) {
	if l.State != Greeting || message.Seq != l.Greeting {
		return
	}
	if message.Codec != JSON {
		l.broken("welcome.codec " + message.Codec + " was not offered")
		return
	}
	l.State, l.session, l.Hubs = Open, message.Session, message.Hubs
	l.heartbeat, l.Lease = atLeast(message.HeartbeatMS), atLeast(message.LeaseMS)
	l.maxBytes = message.MaxMessageBytes
	l.report = report{atLeast(message.ResendMS), l.maxBytes, l.send}
	l.Contact = l.opened
	before := l.Hub
	l.Hub = message.HubID
	if before == l.Hub {
		before = ""
	}
	l.Actions = append(l.Actions, Welcomed{l.Hub, before})
	l.drop(message.Release, "nobody waits for it any more")
	for _, each := range l.mine() {
		each.forgetSending()
	}
	l.Beat(now)
}

func (l *Link) refused(message *Error, session string) {
	if (session != "" && session != l.session) || (l.State != Greeting && l.State != Open) {
		return
	}
	reason := message.Code + ": " + message.Message
	if !message.Retry {
		l.Refuse(reason)
		return
	}
	switch message.Code {
	case "no_session", "malformed", "stopping":
		l.leave(reason)
	case "not_yours":
		l.notOurs(message.Tokens, session)
	}
}

// notOurs forgets results that the hub which gave their steps does not know any more. What another hub gave is not this
// one's to judge: it may not have heard yet that the other is gone.
func (l *Link) notOurs(tokens []string, session string) {
	var forgotten []string
	for _, token := range tokens {
		held := l.holdings.Get(token)
		if session != "" && held != nil && held.Hub == l.Hub && held.State == Done {
			forgotten = append(forgotten, token)
		}
	}
	l.holdings.Forget(forgotten)
}

func (l *Link) steps(message *Steps, now time.Time) {
	tokens := make([]string, len(message.Steps))
	for index := range message.Steps {
		step := &message.Steps[index]
		tokens[index] = step.Metadata.Token
		if l.holdings.Take(step, message.BatchID, l.Hub, now) {
			continue
		}
		// If its hub is gone, this one has taken its place.
		if held := l.holdings.Get(tokens[index]); held != nil && l.orphan(held) {
			held.Hub = l.Hub
		}
	}
	l.send(&Received{tokens})
}

func (l *Link) answered(message *Heartbeat) {
	if sent, ok := l.unanswered[message.Seq]; ok {
		delete(l.unanswered, message.Seq)
		l.Contact = later(l.Contact, sent)
	}
	if len(message.Hubs) > 0 {
		l.Hubs = message.Hubs
	}
	for _, token := range message.Keep {
		if held := l.holdings.Get(token); held != nil && l.orphan(held) {
			held.Hub = l.Hub
		}
	}
}

func (l *Link) started(message *Started) {
	for _, token := range message.Granted {
		if held := l.holdings.Get(token); held != nil {
			held.Granted = true
		}
	}
	var denied []string
	for _, token := range message.Denied {
		if held := l.holdings.Get(token); held == nil || held.State == Waiting {
			denied = append(denied, token)
		}
	}
	l.holdings.Forget(denied)
}

func (l *Link) cancel(message *Cancel) {
	reason := message.Reason
	if reason == "" {
		reason = "cancelled"
	}
	for _, token := range message.Tokens {
		held := l.holdings.Get(token)
		switch {
		case held == nil:
		case held.State == Waiting:
			l.holdings.GiveBack(token, reason)
		case held.State == Running:
			l.Actions = append(l.Actions, Stop{token, reason, false})
		}
	}
}

func (l *Link) drop(tokens []string, reason string) {
	for _, token := range l.holdings.Forget(tokens) {
		l.Actions = append(l.Actions, Stop{token, reason, true})
	}
}

func atLeast(count int64) time.Duration {
	if found := milliseconds(count); found > shortest {
		return found
	}
	return shortest
}
