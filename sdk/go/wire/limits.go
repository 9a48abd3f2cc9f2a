package wire

import (
	"errors"
	"fmt"
)

// ErrOverLimit is the error of a message with a list over its limit.
var ErrOverLimit = errors.New("over_limit")

const (
	maxEntries = 5_000
	maxTokens  = 200_000
	maxNames   = 1_000
)

// limits bound the lists of messages by the names of their fields, the same in every language (docs/reference/protocol.md).
var limits = map[string]int{
	"results": maxEntries, "steps": maxEntries, "lines": maxEntries,
	"tokens": maxTokens, "in_flight": maxTokens, "keep": maxTokens, "release": maxTokens,
	"granted": maxTokens, "denied": maxTokens,
	"versions": maxNames, "codecs": maxNames, "hubs": maxNames,
}

// checkList returns a fault for a list, as valid JSON, over its limit, before memory for its members is allocated.
func checkList(raw []byte, field string) *fault {
	most, bounded := limits[field]
	if !bounded || raw[0] != '[' {
		return nil
	}
	if found := count(raw); found > most {
		return &fault{text: fmt.Sprintf(" has %d %s; the limit is %d", found, field, most), limit: ErrOverLimit}
	}
	return nil
}
