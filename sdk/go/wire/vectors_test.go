package wire

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"
)

type vector struct {
	Name, Kind, Session, Codec, Reader, Answer string
	Body                                       map[string]any
	Frames                                     []string
	FramesHex                                  []string `json:"frames_hex"`
	Ignored                                    []string
}

// vectors are those in JSON: this worker offers nothing else, so the others never reach it.
func vectors(t *testing.T) (messages, unreadable []vector) {
	t.Helper()
	text, err := os.ReadFile("../../../src/turnout/wire/vectors/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Messages, Unreadable []vector }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return inJSON(all.Messages), inJSON(all.Unreadable)
}

func inJSON(all []vector) []vector {
	var found []vector
	for _, each := range all {
		if each.Codec == JSON && each.Reader != "hub" {
			found = append(found, each)
		}
	}
	return found
}

func (v vector) bytes(t *testing.T) [][]byte {
	t.Helper()
	var frames [][]byte
	for _, text := range v.Frames {
		frames = append(frames, []byte(text))
	}
	for _, text := range v.FramesHex {
		frame, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	return frames
}

func TestEveryMessageOfTheVectorsIsReadAndWrittenAlike(t *testing.T) {
	messages, _ := vectors(t)
	for _, vector := range messages {
		t.Run(vector.Name, func(t *testing.T) {
			session, message, err := Unpack(vector.bytes(t))
			if err != nil {
				t.Fatal(err)
			}
			if session != vector.Session || message.Kind() != vector.Kind {
				t.Errorf("it was read as %s in %q", message.Kind(), session)
			}
			written, err := Pack(message, session)
			if err != nil {
				t.Fatal(err)
			}
			_, again, err := Unpack(written)
			if err != nil || !reflect.DeepEqual(again, message) {
				t.Errorf("it came back as %+v (%v), and was %+v", again, err, message)
			}
			var body map[string]any
			if err := json.Unmarshal(written[2], &body); err != nil {
				t.Fatal(err)
			}
			if len(vector.Ignored) == 0 {
				contains(t, vector.Kind, body, vector.Body)
			}
		})
	}
}

// contains compares every field that is expected; fields with a default may stand there besides.
func contains(t *testing.T, path string, found, expected any) {
	t.Helper()
	switch expected := expected.(type) {
	case map[string]any:
		object, _ := found.(map[string]any)
		for name, value := range expected {
			contains(t, path+"."+name, object[name], value)
		}
	case []any:
		list, _ := found.([]any)
		if len(list) != len(expected) {
			t.Errorf("%s is %v instead of %v", path, found, expected)
			return
		}
		for index, value := range expected {
			contains(t, path, list[index], value)
		}
	default:
		if !reflect.DeepEqual(found, expected) {
			t.Errorf("%s is %v instead of %v", path, found, expected)
		}
	}
}

func TestWhatTheVectorsCallUnreadableIsToldApart(t *testing.T) {
	_, unreadable := vectors(t)
	for _, vector := range unreadable {
		t.Run(vector.Name, func(t *testing.T) {
			_, _, err := Unpack(vector.bytes(t))
			var unknown *UnknownKind
			if errors.Is(err, ErrMalformed) != (vector.Answer == "malformed") ||
				errors.As(err, &unknown) != (vector.Answer == "unknown_message") {
				t.Errorf("it must be %s, and is: %v", vector.Answer, err)
			}
			hub := newHub(t).welcome()
			hub.cleared()
			hub.session.Receive(vector.bytes(t), hub.now)
			if left := hub.session.State != Open; left != (vector.Answer == "malformed") {
				t.Errorf("the session is over: %v", left)
			}
			if sent := hub.sentKinds(); (len(sent) == 1) != (vector.Answer == "unknown_message") {
				t.Errorf("it answered %v", sent)
			}
		})
	}
}

func TestWhatIsWrongIsNamedWithItsPath(t *testing.T) {
	for _, each := range []struct{ body, wrong string }{
		{`{"batch_id":"b","protocol_version":"1.0","steps":[{}]}`, "steps.steps[0].step_id is missing"},
		{`{"batch_id":null,"protocol_version":"1.0","steps":[]}`, "steps.batch_id must not be null"},
		{`{"Batch_ID":"b","protocol_version":"1.0","steps":[]}`, "steps.batch_id is missing"},
	} {
		err := decode([]byte(each.body), &Steps{}, "steps")
		if err == nil || err.Error() != each.wrong {
			t.Errorf("%s: %v instead of %s", each.body, err, each.wrong)
		}
	}
}

func TestADocumentIsReadWhateverItsWhiteSpaceAndItsEscapes(t *testing.T) {
	body := "\n{ \"batch\\u005fid\" :\t\"a\\\"]\" , \"protocol_version\":\"1.0\",\"steps\" : [ {\"step_id\":\"1\",\"task_id\":\"\\u00e9\"," +
		"\"step_name\":\"é\",\"handler_class\":\"h\",\"more\":[{}, [ ]], \"previous_results\": { \"a\" : [1 , \"}\"] , \"b\":{} }," +
		"\"metadata\":{\"token\":\"1.1\",\"attempt\": 2 ,\"timeout_ms\":null, \"labels\":{}, \"positional\":[ 1 ,\"x,y\" ] }} ] }\n"
	found := Steps{}
	if err := decode([]byte(body), &found, "steps"); err != nil {
		t.Fatal(err)
	}
	step := found.Steps[0]
	same(t, "batch", found.BatchID, `a"]`)
	same(t, "texts", []string{step.TaskID, step.StepName}, []string{"é", "é"})
	same(t, "results", step.PreviousResults, map[string]json.RawMessage{"a": []byte(`[1 , "}"]`), "b": []byte(`{}`)})
	same(t, "arguments", step.Metadata.Positional, []json.RawMessage{[]byte(`1`), []byte(`"x,y"`)})
	same(t, "attempt", step.Metadata.Attempt, 2)
}

func FuzzUnpackNeverPanics(f *testing.F) {
	f.Add("steps", `{"batch_id":"b","protocol_version":"1.0","steps":[{"metadata":{"args":[]}}]}`)
	f.Add("error", `{"code":"x","retry":null}`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		frames := [][]byte{[]byte(kind), []byte("s1"), []byte(body)}
		session := newHub(t).welcome().session
		session.Receive(append(frames, checkOf(frames)), time.Now())
	})
}
