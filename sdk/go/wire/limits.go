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

// checkList returns ErrOverLimit for a list, as valid JSON, over its limit, before memory for its members is allocated.
func checkList(raw []byte, field, path string) error {
	most, bounded := limits[field]
	if !bounded || len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	if count := members(raw); count > most {
		return fmt.Errorf("%w: %s has %d %s; the limit is %d", ErrOverLimit, path, count, field, most)
	}
	return nil
}

// members counts the members of a list in valid JSON. An empty list counts as one, which no limit excludes.
func members(raw []byte) int {
	count, depth := 1, 0
	for index := 0; index < len(raw); index++ {
		switch raw[index] {
		case '"':
			index = endOfText(raw, index)
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 1 {
				count++
			}
		}
	}
	return count
}

// endOfText returns the index of the quote that ends the text which begins here.
func endOfText(raw []byte, start int) int {
	index := start + 1
	for index < len(raw) && raw[index] != '"' {
		if raw[index] == '\\' {
			index++
		}
		index++
	}
	return index
}
