package worker

import (
	"bytes"
	"os"
	"strings"
)

// The identity of this process: boot id, namespace and start time make its pid unique. Empty where the system does not
// provide them.

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// processStarted returns the start time of this process, in clock ticks since boot.
func processStarted() string {
	const startTime = 19 // counted from the field after the name, which may hold anything
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= startTime {
		return ""
	}
	return string(fields[startTime])
}
