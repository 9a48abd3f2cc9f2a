package wire

import "time"

// Later is a time in the far future, for what has no deadline.
var Later = time.Unix(1<<40, 0)

const century = 100 * 365 * 24 * 3600 * 1000 // milliseconds

// milliseconds returns a duration of a century at most.
func milliseconds(count int64) time.Duration {
	if count > century {
		count = century
	}
	return time.Duration(count) * time.Millisecond
}

func earlier(one, other time.Time) time.Time {
	if other.Before(one) {
		return other
	}
	return one
}

func later(one, other time.Time) time.Time {
	if other.After(one) {
		return other
	}
	return one
}
