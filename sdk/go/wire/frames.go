package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	maxKindLength    = 32
	maxSessionLength = 64
)

// ErrMalformed is the error of frames that are not a message.
var ErrMalformed = errors.New("malformed")

// UnknownKind is the error of a well-formed message of an unknown kind.
type UnknownKind struct{ Name, Session string }

func (e *UnknownKind) Error() string { return fmt.Sprintf("there is no message %q", e.Name) }

// Pack returns the four frames of a message.
func Pack(message Message, session string) ([][]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return nil, err
	}
	frames := [][]byte{[]byte(message.Kind()), []byte(session), bytes.TrimSuffix(body.Bytes(), []byte("\n"))}
	return append(frames, checkOf(frames)), nil
}

// Unpack reads session and message from frames; its errors are ErrMalformed, ErrOverLimit and *UnknownKind.
func Unpack(frames [][]byte) (string, Message, error) {
	kind, session, err := envelope(frames)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	message := blank(kind)
	if message == nil {
		return session, nil, &UnknownKind{kind, session}
	}
	if err := decode(frames[2], message, kind); errors.Is(err, ErrOverLimit) {
		return session, nil, err
	} else if err != nil {
		return session, nil, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	return session, message, nil
}

func envelope(frames [][]byte) (kind, session string, err error) {
	if len(frames) != 4 {
		return "", "", fmt.Errorf("%d frames instead of 4", len(frames))
	}
	if !bytes.Equal(frames[3], checkOf(frames[:3])) {
		return "", "", errors.New("the check does not fit")
	}
	if len(frames[0]) == 0 || len(frames[0]) > maxKindLength || len(frames[1]) > maxSessionLength {
		return "", "", errors.New("kind or session is empty or too long")
	}
	if !isASCII(frames[0]) || !isASCII(frames[1]) {
		return "", "", errors.New("kind and session are ASCII")
	}
	return string(frames[0]), string(frames[1]), nil
}

func checkOf(frames [][]byte) []byte {
	var sum uint32
	for _, frame := range frames {
		sum = crc32.Update(sum, crc32.IEEETable, frame)
	}
	return []byte(fmt.Sprintf("%08x", sum))
}

func isASCII(text []byte) bool {
	for _, each := range text {
		if each > 127 {
			return false
		}
	}
	return true
}
