package worker

import (
	"reflect"
	"strings"
	"testing"
)

func variables(pairs map[string]string) environment {
	return environment{get: func(name string) string { return pairs[name] }}
}

// some is a registry with a handler.
func some() *Registry {
	registry := NewRegistry()
	registry.Handle("seven", returning(7, nil))
	return registry
}

func TestAWorkerWithoutHandlersIsAMistake(t *testing.T) {
	_, err := Options{Connect: []string{"tcp://a:1"}, Registry: NewRegistry()}.resolve(variables(nil))
	if err == nil || !strings.Contains(err.Error(), "no handlers") {
		t.Error(err)
	}
}

func TestWhatIsNotGivenComesFromTheEnvironment(t *testing.T) {
	key := strings.Repeat("a", 40)
	options, err := Options{Registry: some()}.resolve(variables(map[string]string{
		"TURNOUT_CONNECT": "tcp://a:1, tcp://b:1,tcp://a:1", "TURNOUT_WORKER_NAME": "anvil",
		"TURNOUT_WORKER_LABELS": "gpu=true, zone=a=b", "TURNOUT_WORKER_CONCURRENCY": "7",
		"TURNOUT_CURVE_SERVER_KEY": key, "TURNOUT_CURVE_PUBLIC_KEY": key, "TURNOUT_CURVE_SECRET_KEY": key,
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(options.Connect, []string{"tcp://a:1", "tcp://b:1"}) || options.Name != "anvil" ||
		!reflect.DeepEqual(options.Labels, map[string]string{"gpu": "true", "zone": "a=b"}) || options.Concurrency != 7 ||
		*options.Curve != (Curve{ServerKey: key, PublicKey: key, SecretKey: key}) {
		t.Errorf("%+v", options)
	}
}

func TestWhatIsGivenCounts(t *testing.T) {
	given := Options{Connect: []string{"tcp://c:1"}, Name: "mine", Labels: map[string]string{}, Concurrency: 2, Registry: some()}
	options, err := given.resolve(variables(map[string]string{
		"TURNOUT_CONNECT": "tcp://a:1", "TURNOUT_WORKER_NAME": "anvil", "TURNOUT_WORKER_LABELS": "broken",
		"TURNOUT_WORKER_CONCURRENCY": "many",
	}))
	if err != nil || options.Connect[0] != "tcp://c:1" || options.Name != "mine" || options.Concurrency != 2 || options.Curve != nil {
		t.Errorf("%+v %v", options, err)
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	for expected, pairs := range map[string]map[string]string{
		"no hub to connect to":     {"TURNOUT_CONNECT": " , "},
		`Connect has "a:1"`:        {"TURNOUT_CONNECT": "tcp://b:1,a:1"},
		`label "gpu" is none`:      {"TURNOUT_WORKER_LABELS": "gpu"},
		`label "gpu=" is none`:     {"TURNOUT_WORKER_LABELS": "gpu="},
		`concurrency is "0"`:       {"TURNOUT_WORKER_CONCURRENCY": "0"},
		`concurrency is "several"`: {"TURNOUT_WORKER_CONCURRENCY": "several"},
		"the CURVE public key":     {"TURNOUT_CURVE_SERVER_KEY": strings.Repeat("a", 40)},
	} {
		if _, ok := pairs["TURNOUT_CONNECT"]; !ok {
			pairs["TURNOUT_CONNECT"] = "tcp://a:1"
		}
		if _, err := (Options{Registry: some()}).resolve(variables(pairs)); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%v instead of %s", err, expected)
		}
	}
}

func TestPlacesAreDividedEquallyAndEveryHubGetsOne(t *testing.T) {
	for _, each := range []struct {
		credits, count int
		expected       []int
	}{
		{8, 1, []int{8}}, {8, 2, []int{4, 4}}, {8, 3, []int{3, 3, 2}}, {2, 3, []int{1, 1, 1}}, {0, 2, []int{0, 0}},
	} {
		found := make([]int, each.count)
		for index := range found {
			found[index] = share(each.credits, each.count, index)
		}
		if !reflect.DeepEqual(found, each.expected) {
			t.Errorf("%d among %d: %v", each.credits, each.count, found)
		}
	}
}
