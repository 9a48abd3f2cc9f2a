package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// The deepest nesting that hubs read.
const maxDepth = 200

// plain returns a value as JSON. The output of a type's own MarshalJSON, and raw JSON, may hold invalid text: bytes that
// are not UTF-8, halves of surrogate pairs. No hub reads that, so the value is decoded and encoded once more.
func plain(value any) (json.RawMessage, error) {
	encoded, err := json.Marshal(value)
	if err == nil && depth(encoded) > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	if err != nil || (utf8.Valid(encoded) && !surrogate.Match(encoded)) {
		return encoded, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var again any
	if err := decoder.Decode(&again); err != nil {
		return nil, err
	}
	return json.Marshal(again)
}

var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// depth returns the nesting depth of lists and objects.
func depth(encoded []byte) int {
	level, most, text := 0, 0, false
	for index := 0; index < len(encoded); index++ {
		switch each := encoded[index]; {
		case text && each == '\\':
			index++
		case each == '"':
			text = !text
		case text:
		case each == '[' || each == '{':
			if level++; level > most {
				most = level
			}
		case each == ']' || each == '}':
			level--
		}
	}
	return most
}
