package worker

import (
	"strings"
	"time"

	"github.com/turnout-workflows/turnout/sdk/go/zmq"
)

// dealer is a socket to one hub, and the monitor of its connection.
type dealer struct{ socket, monitor *zmq.Socket }

// dial connects a dealer. Its messages do not outlive it: the session repeats what matters.
func dial(context *zmq.Context, address string, options Options) (*dealer, error) {
	socket, err := context.Socket(zmq.Dealer)
	if err != nil {
		return nil, err
	}
	made := &dealer{socket: socket}
	set := func(option zmq.Option, value int64) {
		if err == nil {
			err = socket.SetInt(option, value)
		}
	}
	set(zmq.Linger, 0)
	set(zmq.MaxMessageSize, options.MaxMessageBytes)
	set(zmq.ReconnectMS, 100)
	set(zmq.ReconnectMaxMS, 5000)
	if strings.Contains(address, "[") {
		set(zmq.IPv6, 1)
	}
	if keys := options.Curve; keys != nil {
		for option, key := range map[zmq.Option]string{
			zmq.CurveServerKey: keys.ServerKey, zmq.CurvePublicKey: keys.PublicKey, zmq.CurveSecretKey: keys.SecretKey,
		} {
			if err == nil {
				err = socket.SetText(option, key)
			}
		}
	}
	if err == nil {
		made.monitor, err = context.Monitor(socket)
	}
	if err == nil {
		err = socket.Connect(address)
	}
	if err != nil {
		made.close(0)
		return nil, err
	}
	return made, nil
}

// close closes both; queued messages have linger to go out.
func (d *dealer) close(linger time.Duration) {
	d.socket.Unwatch()
	if d.monitor != nil {
		d.monitor.Close()
	}
	_ = d.socket.SetInt(zmq.Linger, linger.Milliseconds())
	d.socket.Close()
}
