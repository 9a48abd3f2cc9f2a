// Package worker runs steps of Turnout workflows in a Go program.
//
//	worker.Handle("OrderFulfillment::ShipOrder", func(ctx context.Context, step *worker.Step) (any, error) {
//		var order struct{ OrderID int `json:"order_id"` }
//		if err := step.DecodeContext(&order); err != nil {
//			return nil, worker.Permanent(err)
//		}
//		return ship(ctx, order.OrderID, step.IdempotencyKey)
//	})
//	err := worker.Run(context.Background(), worker.Options{})
package worker

import (
	"context"
	"fmt"
	"sort"
	"sync"
)

// Handler runs a step. Its result must be a value that encoding/json can write.
type Handler func(ctx context.Context, step *Step) (any, error)

// HandlerOption is an option of a handler.
type HandlerOption func(*entry)

// Version is stored with each result of the handler.
func Version(version string) HandlerOption {
	return func(e *entry) { e.version = version }
}

// AnyHandler is the name of a handler for all names that no other handler has.
const AnyHandler = "*"

type entry struct {
	handler Handler
	version string
}

// Registry maps handler_class to handlers.
type Registry struct {
	lock    sync.RWMutex
	entries map[string]entry
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{entries: map[string]entry{}} }

// Default is the registry of Handle.
var Default = NewRegistry()

// Handle registers a handler in the Default registry.
func Handle(name string, handler Handler, options ...HandlerOption) {
	Default.Handle(name, handler, options...)
}

// Handle registers a handler. Like http.Handle it panics if the name is empty or taken: that is a mistake in the program.
func (r *Registry) Handle(name string, handler Handler, options ...HandlerOption) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if _, taken := r.entries[name]; taken || name == "" || handler == nil {
		panic(fmt.Sprintf("turnout: handler %q: the name must be new, and neither it nor the handler empty", name))
	}
	made := entry{handler: handler}
	for _, option := range options {
		option(&made)
	}
	r.entries[name] = made
}

func (r *Registry) find(name string) (entry, bool) {
	r.lock.RLock()
	defer r.lock.RUnlock()
	found, ok := r.entries[name]
	if !ok {
		found, ok = r.entries[AnyHandler]
	}
	return found, ok
}

// names returns the handlers of hello.
func (r *Registry) names() []string {
	r.lock.RLock()
	defer r.lock.RUnlock()
	if _, any := r.entries[AnyHandler]; any {
		return []string{AnyHandler}
	}
	names := make([]string, 0, len(r.entries))
	for name := range r.entries {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
