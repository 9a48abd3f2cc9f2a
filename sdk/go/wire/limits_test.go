package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// limitVectors are the limits that every language has.
type limitVectors struct {
	Lists []struct {
		Kind, Field string
		Most        int
		Member      json.RawMessage
		Body        map[string]json.RawMessage
	}
	Nesting struct {
		Kind, Field      string
		Body             json.RawMessage
		Read, Unreadable int
	}
}

func readLimits(t *testing.T) (found limitVectors) {
	t.Helper()
	text, err := os.ReadFile("../../../src/turnout/wire/vectors/limits.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func framed(kind string, body []byte) [][]byte {
	frames := [][]byte{[]byte(kind), []byte("s1"), body}
	return append(frames, checkOf(frames))
}

func listOf(count int, member []byte) json.RawMessage {
	members := bytes.Repeat(append(member, ','), count)
	return append(append([]byte("["), members[:len(members)-1]...), ']')
}

func TestAListThatIsLongerThanTheVectorsAllowIsOverTheLimit(t *testing.T) {
	for _, vector := range readLimits(t).Lists {
		t.Run(vector.Kind+"."+vector.Field, func(t *testing.T) {
			if limits[vector.Field] != vector.Most {
				t.Errorf("the limit is %d instead of %d", limits[vector.Field], vector.Most)
			}
			for more := 0; more <= 1; more++ {
				vector.Body[vector.Field] = listOf(vector.Most+more, vector.Member)
				body, err := json.Marshal(vector.Body)
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = Unpack(framed(vector.Kind, body))
				if errors.Is(err, ErrOverLimit) != (more == 1) || (more == 0 && err != nil) {
					t.Errorf("%d %s: %v", vector.Most+more, vector.Field, err)
				}
			}
		})
	}
}

func TestNestingIsBounded(t *testing.T) {
	vector := readLimits(t).Nesting
	nested := func(depth int) [][]byte {
		lists := strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1)
		body := fmt.Sprintf("%s,%q:%s}", strings.TrimSuffix(string(vector.Body), "}"), vector.Field, lists)
		return framed(vector.Kind, []byte(body))
	}
	if _, _, err := Unpack(nested(vector.Read)); err != nil {
		t.Error(err)
	}
	if _, _, err := Unpack(nested(vector.Unreadable)); !errors.Is(err, ErrMalformed) {
		t.Errorf("it was read: %v", err)
	}
}

func TestCommasInTextsAndInMembersAreNoMembers(t *testing.T) {
	if found := count([]byte(`["a,\",b", {"c": [1, 2]}, [3, 4]]`)); found != 3 {
		t.Errorf("%d members instead of 3", found)
	}
}

func TestAMessageOverTheLimitEndsTheConnectionWithItsReason(t *testing.T) {
	hub := newHub(t).welcome()
	hub.cleared()
	body := fmt.Sprintf(`{"tokens":%s}`, listOf(maxTokens+1, []byte(`"1.1"`)))
	frames := [][]byte{[]byte("ack"), []byte(hub.session.sessionID), []byte(body)}
	hub.session.Receive(append(frames, checkOf(frames)), hub.now)
	reason := "over_limit: ack has 200001 tokens; the limit is 200000"
	if len(hub.session.Actions) != 1 || hub.session.Actions[0] != (Reconnect{reason}) || !hub.session.OverLimit {
		t.Errorf("it did %v", hub.session.Actions)
	}
}
