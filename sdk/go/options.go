package worker

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/wire"
)

const (
	sdkVersion          = "0.1.0"
	defaultConcurrency  = 4
	maxConcurrency      = 10_000
	defaultGrace        = 30 * time.Second
	defaultKillGrace    = 5 * time.Second
	defaultMessageBytes = 16 << 20
)

// Options are the options of a worker. Those that are not set come from the environment.
type Options struct {
	Connect     []string          // addresses of hubs; TURNOUT_CONNECT, comma-separated
	Name        string            // for people; TURNOUT_WORKER_NAME
	Labels      map[string]string // TURNOUT_WORKER_LABELS, as gpu=true,zone=a
	Concurrency int               // handlers at once, 4; twice as many steps are held, more while they are quick; TURNOUT_WORKER_CONCURRENCY
	Curve       *Curve            // TURNOUT_CURVE_SERVER_KEY, TURNOUT_CURVE_PUBLIC_KEY, TURNOUT_CURVE_SECRET_KEY
	// KeyFile is a file as turnout keys generate makes it, in place of the worker's own pair in Curve;
	// TURNOUT_CURVE_KEY_FILE.
	KeyFile string

	// Grace is how long running steps get to finish when the worker stops: 30 s.
	Grace time.Duration
	// KillGrace is how long a handler may take to end after its context is over, before it is reported as
	// stuck: 5 s.
	KillGrace       time.Duration
	NoDiscover      bool        // connects to no hub that only another hub has named
	MaxMessageBytes int64       // the largest message that is accepted from a hub, 16 MiB
	Registry        *Registry   // Default
	Logger          *log.Logger // stderr
	NoSignals       bool        // SIGTERM and SIGINT are left alone; end the context to drain
}

// resolve fills in options that are not set, and checks all of them.
func (o Options) resolve(from environment) (Options, error) {
	var err error
	getenv := from.get
	if o.Logger == nil {
		o.Logger = log.New(os.Stderr, "turnout-worker: ", log.LstdFlags)
	}
	if o.Connect, err = addresses(o.Connect, getenv("TURNOUT_CONNECT")); err != nil {
		return o, err
	}
	if o.Labels == nil {
		if o.Labels, err = parseLabels(getenv("TURNOUT_WORKER_LABELS")); err != nil {
			return o, err
		}
	}
	if o.Concurrency, err = concurrency(o.Concurrency, getenv("TURNOUT_WORKER_CONCURRENCY")); err != nil {
		return o, err
	}
	if o.Curve, err = curve(o.Curve, o.KeyFile, from, o.Logger); err != nil {
		return o, err
	}
	if o.Name == "" {
		o.Name = getenv("TURNOUT_WORKER_NAME")
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s-%d", hostname(), os.Getpid())
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.KillGrace <= 0 {
		o.KillGrace = defaultKillGrace
	}
	if o.MaxMessageBytes <= 0 {
		o.MaxMessageBytes = defaultMessageBytes
	}
	if o.Registry == nil {
		o.Registry = Default
	}
	if len(o.Registry.names()) == 0 {
		return o, errors.New("turnout: there are no handlers: register them with worker.Handle before Run")
	}
	return o, nil
}

// hello are the fields of hello that stay the same.
func (o Options) hello() (wire.Hello, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return wire.Hello{}, fmt.Errorf("turnout: no random worker_id: %w", err)
	}
	return wire.Hello{
		Versions: []string{wire.Version}, WorkerID: hex.EncodeToString(id), Name: o.Name, Language: "go",
		SDKVersion: sdkVersion, Host: hostname(), PID: os.Getpid(), BootID: bootID(), PIDNamespace: pidNamespace(),
		ProcessStarted: processStarted(), Labels: o.Labels, Handlers: o.Registry.names(), Codecs: []string{wire.JSON},
		Concurrency: o.Concurrency,
	}, nil
}

var hubAddress = regexp.MustCompile(`^(tcp|ipc)://.`)

func addresses(given []string, environment string) ([]string, error) {
	if len(given) == 0 {
		given = strings.Split(environment, ",")
	}
	var found []string
	seen := map[string]bool{"": true}
	for _, address := range given {
		if address = strings.TrimSpace(address); !seen[address] {
			if !hubAddress.MatchString(address) {
				return nil, fmt.Errorf("turnout: Connect has %q: write tcp://host:port or ipc:///path", address)
			}
			seen[address] = true
			found = append(found, address)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("turnout: no hub to connect to: set Connect or TURNOUT_CONNECT (tcp://127.0.0.1:5890)")
	}
	return found, nil
}

func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("turnout: the label %q is none: write NAME=VALUE, such as gpu=true", pair)
		}
		labels[name] = value
	}
	return labels, nil
}

func concurrency(given int, environment string) (int, error) {
	text := strconv.Itoa(given)
	if given == 0 {
		text = strings.TrimSpace(environment)
	}
	if text == "" {
		return defaultConcurrency, nil
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 || count > maxConcurrency {
		return 0, fmt.Errorf("turnout: concurrency is %q; it must be a number from 1 to %d", text, maxConcurrency)
	}
	return count, nil
}
