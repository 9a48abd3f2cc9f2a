package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// No hub has to read what is nested deeper.
const deepest = 200

// plain is a value as JSON. What a type's own MarshalJSON writes, and raw JSON, may hold what is no text: bytes that are
// not UTF-8, halves of surrogate pairs. A hub would not read it, so it is read and written once more.
func plain(value any) (json.RawMessage, error) {
	encoded, err := json.Marshal(value)
	if err == nil && depth(encoded) > deepest {
		return nil, fmt.Errorf("it is nested more than %d levels deep", deepest)
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

// depth is how deep lists and objects are nested in each other.
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
