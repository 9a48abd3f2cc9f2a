package worker

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatIsNoTextIsMendedBeforeItTravels(t *testing.T) {
	for given, expected := range map[string]string{
		`{"a":"\ud800"}`:            "{\"a\":\"\uFFFD\"}",
		"[\"\xff\",1.50]":           "[\"\uFFFD\",1.50]",
		`["\ud83d\ude82"]`:          `["🚂"]`,
		`{"n":9007199254740993.10}`: `{"n":9007199254740993.10}`,
	} {
		if found, err := plain(json.RawMessage(given)); err != nil || string(found) != expected {
			t.Errorf("%s became %s (%v)", given, found, err)
		}
	}
}

func TestWhatIsNestedTooDeepDoesNotTravel(t *testing.T) {
	for levels, fits := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		nested := strings.Repeat("[", levels) + strings.Repeat("]", levels)
		if _, err := plain(json.RawMessage(nested)); (err == nil) != fits {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
	if _, err := plain(strings.Repeat(`"[\\`, 2*maxDepth)); err != nil {
		t.Errorf("brackets in text: %v", err)
	}
}
