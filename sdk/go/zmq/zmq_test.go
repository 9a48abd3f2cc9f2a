package zmq

import (
	"os"
	"reflect"
	"runtime"
	"testing"
	"time"
)

// connected is a bound ROUTER and a DEALER that is connected to it.
func connected(t *testing.T) (router, dealer *Socket) {
	t.Helper()
	runtime.LockOSThread()
	context, err := NewContext()
	if err != nil {
		t.Fatal(err)
	}
	router, dealer = socket(t, context, Router), socket(t, context, Dealer)
	t.Cleanup(func() {
		router.Close()
		dealer.Close()
		context.Close()
		runtime.UnlockOSThread()
	})
	if err := router.Bind("tcp://127.0.0.1:*"); err != nil {
		t.Fatal(err)
	}
	address, err := router.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	if err := dealer.Connect(address); err != nil {
		t.Fatal(err)
	}
	return router, dealer
}

func socket(t *testing.T, context *Context, of Type) *Socket {
	t.Helper()
	made, err := context.Socket(of)
	if err != nil {
		t.Fatal(err)
	}
	for option, value := range map[Option]int64{Linger: 0, MaxMessageSize: 1 << 40} {
		if err := made.SetInt(option, value); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// next waits for a message. The descriptor is one that never has anything.
func next(t *testing.T, socket *Socket) [][]byte {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		frames, err := socket.Receive()
		if err == nil {
			return frames
		}
		if err != ErrAgain {
			t.Fatal(err)
		}
		if err := Poll([]*Socket{socket}, int(read.Fd()), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("nothing came")
	return nil
}

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	router, dealer := connected(t)
	sent := [][]byte{[]byte("hello"), {}, []byte("{}"), {0, 255}}
	if err := dealer.Send(sent); err != nil {
		t.Fatal(err)
	}
	came := next(t, router)
	if !reflect.DeepEqual(came[1:], sent) {
		t.Errorf("%q came", came[1:])
	}
	if err := router.Send([][]byte{came[0], []byte("back")}); err != nil {
		t.Fatal(err)
	}
	if back := next(t, dealer); !reflect.DeepEqual(back, [][]byte{[]byte("back")}) {
		t.Errorf("%q came back", back)
	}
}

func TestNothingToReceiveIsNoFailure(t *testing.T) {
	_, dealer := connected(t)
	if _, err := dealer.Receive(); err != ErrAgain {
		t.Error(err)
	}
}

func TestPollEndsWhenTheDescriptorHasSomething(t *testing.T) {
	_, dealer := connected(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	if _, err := write.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := Poll([]*Socket{dealer}, int(read.Fd()), time.Hour); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeIsAnError(t *testing.T) {
	_, dealer := connected(t)
	if err := dealer.Connect("nowhere"); err == nil {
		t.Error("an address without a transport was taken")
	}
	if err := dealer.SetText(CurveServerKey, "too short"); err == nil {
		t.Error("a key that is too short was taken")
	}
}
