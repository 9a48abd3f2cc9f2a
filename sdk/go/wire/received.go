package wire

import "time"

// The messages that a session receives.

func (s *WorkerSession) onWelcome(message *Welcome, now time.Time) {
	if s.State != Greeting || message.Seq != s.HelloSeq {
		return
	}
	if message.Codec != JSON {
		s.onMalformed("welcome.codec " + message.Codec + " was not offered")
		return
	}
	s.State, s.sessionID, s.Hubs = Open, message.Session, message.Hubs
	s.heartbeat, s.Lease = atLeast(message.HeartbeatMS), atLeast(message.LeaseMS)
	s.maxBytes = message.MaxMessageBytes
	s.report = report{atLeast(message.ResendMS), s.maxBytes, s.send}
	s.Contact = s.opened
	before := s.Hub
	s.Hub = message.HubID
	if before == s.Hub {
		before = ""
	}
	s.Actions = append(s.Actions, SessionOpened{s.Hub, before})
	s.forget(message.Release, "its result is not needed any more")
	for _, each := range s.ownSteps() {
		each.resetSent()
	}
	s.CheckAll()
	s.SendHeartbeat(now)
}

func (s *WorkerSession) onError(message *Error, session string) {
	if (session != "" && session != s.sessionID) || (s.State != Greeting && s.State != Open) {
		return
	}
	reason := message.Code + ": " + message.Message
	if !message.Retry {
		s.Refuse(reason)
		return
	}
	switch message.Code {
	case "no_session", "malformed", "stopping":
		s.reconnect(reason)
	case "not_yours":
		s.onNotYours(message.Tokens, session)
	}
}

// onNotYours forgets results that the hub of their steps does not know any more. A hub does not decide about steps of
// another hub: it may not know yet that the other is gone.
func (s *WorkerSession) onNotYours(tokens []string, session string) {
	var forgotten []string
	for _, token := range tokens {
		heldStep := s.heldSteps.Get(token)
		if session != "" && heldStep != nil && heldStep.Hub == s.Hub && heldStep.State == Done {
			forgotten = append(forgotten, token)
		}
	}
	s.heldSteps.Forget(forgotten)
}

func (s *WorkerSession) onSteps(message *Steps, now time.Time) {
	tokens := make([]string, len(message.Steps))
	for index := range message.Steps {
		step := &message.Steps[index]
		tokens[index] = step.Metadata.Token
		if s.heldSteps.Add(step, message.BatchID, s.Hub, now) {
			continue
		}
		// If its hub is gone, this hub has taken over.
		if heldStep := s.heldSteps.Get(tokens[index]); heldStep != nil && s.orphan(heldStep) {
			heldStep.Hub = s.Hub
		}
	}
	s.send(&Received{tokens})
}

func (s *WorkerSession) onHeartbeat(message *Heartbeat) {
	if sent, ok := s.sentAt[message.Seq]; ok {
		delete(s.sentAt, message.Seq)
		s.Contact = later(s.Contact, sent)
	}
	if len(message.Hubs) > 0 {
		s.Hubs = message.Hubs
	}
	for _, token := range message.Keep {
		if heldStep := s.heldSteps.Get(token); heldStep != nil && s.orphan(heldStep) {
			heldStep.Hub = s.Hub
		}
	}
}

func (s *WorkerSession) onStarted(message *Started) {
	for _, token := range message.Granted {
		if heldStep := s.heldSteps.Get(token); heldStep != nil {
			heldStep.Granted = true
		}
	}
	var denied []string
	for _, token := range message.Denied {
		if heldStep := s.heldSteps.Get(token); heldStep == nil || heldStep.State == Waiting {
			denied = append(denied, token)
		}
	}
	s.heldSteps.Forget(denied)
}

func (s *WorkerSession) onCancel(message *Cancel) {
	reason := message.Reason
	if reason == "" {
		reason = "cancelled"
	}
	for _, token := range message.Tokens {
		heldStep := s.heldSteps.Get(token)
		switch {
		case heldStep == nil:
		case heldStep.State == Waiting:
			s.heldSteps.ReturnStep(token, reason)
		case heldStep.State == Running:
			s.Actions = append(s.Actions, Stop{token, reason, false})
		}
	}
}

func (s *WorkerSession) forget(tokens []string, reason string) {
	for _, token := range s.heldSteps.Forget(tokens) {
		s.Actions = append(s.Actions, Stop{token, reason, true})
	}
}

func atLeast(count int64) time.Duration {
	if found := milliseconds(count); found > minInterval {
		return found
	}
	return minInterval
}
