package worker

import (
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

// Curve are the keys of an encrypted connection, as Z85 text: the hub's public key, and this worker's own pair.
type Curve struct{ ServerKey, PublicKey, SecretKey string }

// String shows everything but the secret.
func (c Curve) String() string {
	return fmt.Sprintf("{ServerKey:%s PublicKey:%s SecretKey:***}", c.ServerKey, c.PublicKey)
}

// GoString is String, so that no format shows the secret.
func (c Curve) GoString() string { return "worker.Curve" + c.String() }

// environment reads variables; unset removes one, and is nil where variables are not removed.
type environment struct {
	get   func(string) string
	unset func(string) error
}

// processEnvironment is that of this process.
var processEnvironment = environment{os.Getenv, os.Unsetenv}

// taken are the secret keys that were removed from the environment of this process, by their public halves.
var taken struct {
	sync.Mutex
	secrets map[string]string
}

// keys returns the keys of the environment, and removes the secret key from it: child processes inherit the environment,
// and may print it.
func (e environment) keys() Curve {
	found := Curve{
		ServerKey: strings.TrimSpace(e.get("TURNOUT_CURVE_SERVER_KEY")),
		PublicKey: strings.TrimSpace(e.get("TURNOUT_CURVE_PUBLIC_KEY")),
		SecretKey: strings.TrimSpace(e.get("TURNOUT_CURVE_SECRET_KEY")),
	}
	if e.unset == nil {
		return found
	}
	_ = e.unset("TURNOUT_CURVE_SECRET_KEY")
	taken.Lock()
	defer taken.Unlock()
	if taken.secrets == nil {
		taken.secrets = map[string]string{}
	}
	switch {
	case found.PublicKey == "":
	case found.SecretKey == "":
		found.SecretKey = taken.secrets[found.PublicKey]
	default:
		taken.secrets[found.PublicKey] = found.SecretKey
	}
	return found
}

// curve returns nil if there are no keys. Only the hub's key may come from elsewhere than the pair.
func curve(given *Curve, file string, from environment, logger *log.Logger) (*Curve, error) {
	keys := from.keys()
	chosen := Curve{}
	if given != nil {
		chosen = *given
	}
	if chosen.ServerKey == "" {
		chosen.ServerKey = keys.ServerKey
	}
	if chosen.PublicKey+chosen.SecretKey+file == "" {
		chosen.PublicKey, chosen.SecretKey = keys.PublicKey, keys.SecretKey
		file = strings.TrimSpace(from.get("TURNOUT_CURVE_KEY_FILE"))
	}
	keys = chosen
	if file != "" {
		if keys.PublicKey+keys.SecretKey != "" {
			return nil, errors.New("turnout: a key file and a public or secret key are both there: a worker has one pair of keys")
		}
		var err error
		if keys.PublicKey, keys.SecretKey, err = ownPair(file, logger); err != nil {
			return nil, err
		}
	}
	if keys == (Curve{}) {
		return nil, nil
	}
	for _, each := range []struct{ name, key string }{
		{"server", keys.ServerKey}, {"public", keys.PublicKey}, {"secret", keys.SecretKey},
	} {
		if !z85Key.MatchString(each.key) {
			return nil, fmt.Errorf("turnout: the CURVE %s key must be 40 characters of Z85 text; all three keys or none", each.name)
		}
	}
	return &keys, nil
}

var (
	z85Key  = regexp.MustCompile(`^[0-9A-Za-z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}$`)
	keyLine = regexp.MustCompile(`(?m)^\s*(public|secret)-key\s*=\s*["']?([^\s"']+)["']?\s*$`)
)

// ownPair returns the pair of a file. Its halves must belong together, and other users ought not to read it.
func ownPair(file string, logger *log.Logger) (public, secret string, err error) {
	public, secret, err = readPair(file)
	if err != nil {
		return "", "", err
	}
	if belongs, err := zmq.CurvePublic(secret); err != nil || belongs != public {
		return "", "", fmt.Errorf(
			"turnout: the halves in the key file %q do not belong together: make a new pair with `turnout keys generate`", file)
	}
	if about, err := os.Stat(file); err == nil && about.Mode().Perm()&0o077 != 0 {
		logger.Printf("others on this machine can read %s, which holds a secret key: chmod 600 it", file)
	}
	return public, secret, nil
}

func readPair(file string) (public, secret string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("turnout: the key file %q cannot be read: %w", file, err)
	}
	if !utf8.Valid(text) {
		return "", "", fmt.Errorf("turnout: the key file %q cannot be read: it is no text", file)
	}
	found := map[string]string{}
	for _, match := range keyLine.FindAllStringSubmatch(string(text), -1) {
		found[match[1]] = match[2]
	}
	for _, half := range []string{"public", "secret"} {
		if found[half] == "" {
			return "", "", fmt.Errorf("turnout: the key file %q has no %s key: name the file with both halves, "+
				"as `turnout keys generate` makes it", file, half)
		}
		if !z85Key.MatchString(found[half]) {
			return "", "", fmt.Errorf("turnout: the %s key in %q is none: a key has 40 characters of Z85", half, file)
		}
	}
	return found["public"], found["secret"], nil
}
