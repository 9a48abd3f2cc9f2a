package zmq

/*
#include <stdlib.h>
#include <zmq.h>
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Event is an event of a socket's connection.
type Event uint16

// The events of a monitor.
const (
	Disconnected        Event = C.ZMQ_EVENT_DISCONNECTED
	HandshakeRefused    Event = C.ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
	HandshakeBroken     Event = C.ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
	HandshakeUnfinished Event = C.ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
)

var monitors int64

// Monitor returns a socket that receives the events of another one. It is closed before that one.
func (c *Context) Monitor(of *Socket) (*Socket, error) {
	address := fmt.Sprintf("inproc://monitor-%d", atomic.AddInt64(&monitors, 1))
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	watched := Disconnected | HandshakeRefused | HandshakeBroken | HandshakeUnfinished
	if code, err := C.zmq_socket_monitor(of.pointer, text, C.int(watched)); code != 0 {
		return nil, fmt.Errorf("zmq monitor: %w", err)
	}
	monitor, err := c.Socket(pair)
	if err != nil {
		return nil, err
	}
	if err := monitor.Connect(address); err != nil {
		monitor.Close()
		return nil, err
	}
	return monitor, nil
}

// Event returns the next event of a monitor, or ErrAgain.
func (s *Socket) Event() (Event, error) {
	frames, err := s.Receive()
	if err != nil {
		return 0, err
	}
	if len(frames[0]) < int(unsafe.Sizeof(Event(0))) {
		return 0, fmt.Errorf("zmq monitor: %d bytes are no event", len(frames[0]))
	}
	return *(*Event)(unsafe.Pointer(&frames[0][0])), nil
}

// Unwatch ends the events of a socket: its monitor may be closed then.
func (s *Socket) Unwatch() { C.zmq_socket_monitor(s.pointer, nil, 0) }
