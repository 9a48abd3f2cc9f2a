package worker

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

const (
	// A pair that libzmq made.
	publicKey = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
	secretKey = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
)

var hubKey = strings.Repeat("s", 40)

// keyFile is one as turnout keys generate makes it.
func keyFile(t *testing.T, public, secret string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "worker.key")
	text := fmt.Sprintf("# A pair of keys of Turnout.\nmetadata\ncurve\n    public-key = \"%s\"\n    secret-key = \"%s\"\n", public, secret)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheSecretKeyDoesNotStayInTheEnvironmentThatChildrenGet(t *testing.T) {
	for name, value := range map[string]string{
		"TURNOUT_CURVE_SERVER_KEY": hubKey, "TURNOUT_CURVE_PUBLIC_KEY": publicKey, "TURNOUT_CURVE_SECRET_KEY": secretKey,
	} {
		t.Setenv(name, value)
	}
	for _, time := range []string{"first", "next"} {
		found, err := curve(nil, "", processEnvironment, log.Default())
		if err != nil || *found != (Curve{hubKey, publicKey, secretKey}) {
			t.Errorf("the %s worker has %v (%v)", time, found, err)
		}
	}
	printed, err := exec.Command("env").Output()
	if err != nil || !bytes.Contains(printed, []byte(publicKey)) || bytes.Contains(printed, []byte(secretKey)) {
		t.Errorf("a child has %s (%v)", printed, err)
	}
}

func TestNoFormatShowsTheSecretKey(t *testing.T) {
	keys := Curve{hubKey, publicKey, secretKey}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{keys, &keys, Options{Curve: &keys}} {
			if strings.Contains(fmt.Sprintf(format, value), secretKey) {
				t.Errorf("%s shows it", format)
			}
		}
	}
}

func TestThePairMayBeInAFile(t *testing.T) {
	file := keyFile(t, publicKey, secretKey)
	var logged bytes.Buffer
	logger := log.New(&logged, "", 0)
	for name, each := range map[string]struct {
		given     *Curve
		file      string
		variables map[string]string
	}{
		"variables":       {variables: map[string]string{"TURNOUT_CURVE_SERVER_KEY": hubKey, "TURNOUT_CURVE_KEY_FILE": file}},
		"options":         {&Curve{ServerKey: hubKey}, file, nil},
		"the hub's key":   {file: file, variables: map[string]string{"TURNOUT_CURVE_SERVER_KEY": hubKey}},
		"a file besides":  {&Curve{ServerKey: hubKey}, "", map[string]string{"TURNOUT_CURVE_KEY_FILE": file}},
		"another's pair":  {&Curve{ServerKey: hubKey}, file, map[string]string{"TURNOUT_CURVE_PUBLIC_KEY": hubKey}},
		"keys themselves": {&Curve{hubKey, publicKey, secretKey}, "", map[string]string{"TURNOUT_CURVE_KEY_FILE": "/nowhere"}},
	} {
		from := environment{get: func(name string) string { return each.variables[name] }}
		if found, err := curve(each.given, each.file, from, logger); err != nil || *found != (Curve{hubKey, publicKey, secretKey}) {
			t.Errorf("%s: %v %v", name, found, err)
		}
	}
	if logged.Len() > 0 {
		t.Error(logged.String())
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := curve(&Curve{ServerKey: hubKey}, file, environment{get: func(string) string { return "" }}, logger); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "others on this machine can read "+file) {
		t.Errorf("that others can read it is not logged: %s", logged.String())
	}
}

func TestAKeyFileThatIsNoneIsRefusedWithTheReason(t *testing.T) {
	for expected, file := range map[string]string{
		"cannot be read":         "/nowhere/worker.key",
		"has no secret key":      keyFile(t, publicKey, ""),
		"is none":                keyFile(t, publicKey, "short"),
		"do not belong together": keyFile(t, hubKey, secretKey),
	} {
		_, err := curve(&Curve{ServerKey: hubKey}, file, environment{get: func(string) string { return "" }}, log.Default())
		if err == nil || !strings.Contains(err.Error(), expected) || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%v instead of %s", err, expected)
		}
	}
	given := &Curve{hubKey, publicKey, secretKey}
	_, err := curve(given, "/nowhere", environment{get: func(string) string { return "" }}, log.Default())
	if err == nil || !strings.Contains(err.Error(), "one pair of keys") {
		t.Error(err)
	}
}

func TestThePublicHalfOfASecretKeyIsKnown(t *testing.T) {
	if found, err := zmq.CurvePublic(secretKey); err != nil || found != publicKey {
		t.Error(found, err)
	}
}
