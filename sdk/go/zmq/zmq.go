// Package zmq binds the part of libzmq that a worker needs. A socket belongs to one OS thread; only Poll blocks.
package zmq

/*
#cgo LDFLAGS: -lzmq
#include <errno.h>
#include <stdlib.h>
#include <zmq.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// Type is the type of a socket.
type Type int

// The types of sockets that the protocol has.
const (
	Dealer Type = C.ZMQ_DEALER
	Router Type = C.ZMQ_ROUTER
	pair   Type = C.ZMQ_PAIR
)

// Option is an option of a socket.
type Option int

// The options that are used here.
const (
	Linger            Option = C.ZMQ_LINGER
	MaxMessageSize    Option = C.ZMQ_MAXMSGSIZE
	IPv6              Option = C.ZMQ_IPV6
	ReconnectMS       Option = C.ZMQ_RECONNECT_IVL
	ReconnectMaxMS    Option = C.ZMQ_RECONNECT_IVL_MAX
	LastEndpoint      Option = C.ZMQ_LAST_ENDPOINT
	CurveServer       Option = C.ZMQ_CURVE_SERVER
	CurveServerKey    Option = C.ZMQ_CURVE_SERVERKEY
	CurvePublicKey    Option = C.ZMQ_CURVE_PUBLICKEY
	CurveSecretKey    Option = C.ZMQ_CURVE_SECRETKEY
	maxEndpointLength        = 1024
)

// ErrAgain is returned when nothing can be sent or received without blocking.
var ErrAgain = errors.New("zmq: not now")

// Context owns the threads of libzmq.
type Context struct{ pointer unsafe.Pointer }

// NewContext returns a new context.
func NewContext() (*Context, error) {
	pointer, err := C.zmq_ctx_new()
	if pointer == nil {
		return nil, fmt.Errorf("zmq context: %w", err)
	}
	return &Context{pointer}, nil
}

// Close ends the context, once all its sockets are closed.
func (c *Context) Close() {
	for C.zmq_ctx_term(c.pointer) != 0 && C.zmq_errno() == C.EINTR {
	}
}

// Socket is a ZeroMQ socket.
type Socket struct{ pointer unsafe.Pointer }

// Socket returns a new socket.
func (c *Context) Socket(of Type) (*Socket, error) {
	pointer, err := C.zmq_socket(c.pointer, C.int(of))
	if pointer == nil {
		return nil, fmt.Errorf("zmq socket: %w", err)
	}
	return &Socket{pointer}, nil
}

// Close closes the socket at once.
func (s *Socket) Close() { C.zmq_close(s.pointer) }

// SetInt sets an option that is a number.
func (s *Socket) SetInt(option Option, value int64) error {
	if option == MaxMessageSize {
		wide := C.int64_t(value)
		return s.set(option, unsafe.Pointer(&wide), unsafe.Sizeof(wide))
	}
	number := C.int(value)
	return s.set(option, unsafe.Pointer(&number), unsafe.Sizeof(number))
}

// SetText sets an option that is text.
func (s *Socket) SetText(option Option, value string) error {
	text := C.CString(value)
	defer C.free(unsafe.Pointer(text))
	return s.set(option, unsafe.Pointer(text), uintptr(len(value)))
}

func (s *Socket) set(option Option, value unsafe.Pointer, size uintptr) error {
	if code, err := C.zmq_setsockopt(s.pointer, C.int(option), value, C.size_t(size)); code != 0 {
		return fmt.Errorf("zmq option %d: %w", option, err)
	}
	return nil
}

// Endpoint returns the address that the socket is bound to.
func (s *Socket) Endpoint() (string, error) {
	text := (*C.char)(C.malloc(maxEndpointLength))
	defer C.free(unsafe.Pointer(text))
	size := C.size_t(maxEndpointLength)
	if code, err := C.zmq_getsockopt(s.pointer, C.int(LastEndpoint), unsafe.Pointer(text), &size); code != 0 {
		return "", fmt.Errorf("zmq endpoint: %w", err)
	}
	return C.GoString(text), nil
}

// CurvePublic returns the public half of a secret key, both as Z85 text.
func CurvePublic(secret string) (string, error) {
	text := C.CString(secret)
	defer C.free(unsafe.Pointer(text))
	found := make([]C.char, 41)
	if code, err := C.zmq_curve_public(&found[0], text); code != 0 {
		return "", fmt.Errorf("zmq: %w", err)
	}
	return C.GoString(&found[0]), nil
}

// Connect connects the socket to an address; libzmq keeps reconnecting.
func (s *Socket) Connect(address string) error {
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	if code, err := C.zmq_connect(s.pointer, text); code != 0 {
		return fmt.Errorf("cannot connect to %q: %w", address, err)
	}
	return nil
}

// Bind binds the socket to an address.
func (s *Socket) Bind(address string) error {
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	if code, err := C.zmq_bind(s.pointer, text); code != 0 {
		return fmt.Errorf("cannot bind %q: %w", address, err)
	}
	return nil
}

// Send sends one message, or nothing of it.
func (s *Socket) Send(frames [][]byte) error {
	for index, frame := range frames {
		flags := C.int(C.ZMQ_DONTWAIT)
		if index < len(frames)-1 {
			flags |= C.ZMQ_SNDMORE
		}
		var start unsafe.Pointer
		if len(frame) > 0 {
			start = unsafe.Pointer(&frame[0])
		}
		for {
			code, err := C.zmq_send(s.pointer, start, C.size_t(len(frame)), flags)
			if code >= 0 {
				break
			}
			if !errors.Is(err, syscall.EINTR) {
				return notNow(err)
			}
		}
	}
	return nil
}

// Receive returns the next message, or ErrAgain.
func (s *Socket) Receive() ([][]byte, error) {
	var frames [][]byte
	var message C.zmq_msg_t
	C.zmq_msg_init(&message)
	defer C.zmq_msg_close(&message)
	for {
		size, err := C.zmq_msg_recv(&message, s.pointer, C.ZMQ_DONTWAIT)
		if size < 0 {
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			return nil, notNow(err)
		}
		frames = append(frames, C.GoBytes(C.zmq_msg_data(&message), size))
		if C.zmq_msg_more(&message) == 0 {
			return frames, nil
		}
	}
}

// Poll blocks until a socket or the file descriptor is readable, a signal arrives, or the timeout has passed.
func Poll(sockets []*Socket, descriptor int, timeout time.Duration) error {
	items := make([]C.zmq_pollitem_t, len(sockets)+1)
	items[0].fd, items[0].events = C.int(descriptor), C.ZMQ_POLLIN
	for index, socket := range sockets {
		items[index+1].socket, items[index+1].events = socket.pointer, C.ZMQ_POLLIN
	}
	// Rounded up, so that the last millisecond is not polled in a busy loop.
	wait := C.long((timeout + time.Millisecond - 1) / time.Millisecond)
	code, err := C.zmq_poll(&items[0], C.int(len(items)), wait)
	if code < 0 && !errors.Is(err, syscall.EINTR) {
		return fmt.Errorf("zmq poll: %w", err)
	}
	return nil
}

func notNow(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return ErrAgain
	}
	return fmt.Errorf("zmq: %w", err)
}
