package worker

import (
	"sync"
	"syscall"
)

// wakeup wakes the goroutine that waits for its sockets, through a pipe.
type wakeup struct {
	lock         sync.Mutex
	read, write  int
	pending, end bool
}

func newWakeup() (*wakeup, error) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return nil, err
	}
	for _, each := range ends {
		syscall.CloseOnExec(each)
		if err := syscall.SetNonblock(each, true); err != nil {
			return nil, err
		}
	}
	return &wakeup{read: ends[0], write: ends[1]}, nil
}

// signal wakes the loop. The caller queues its message before.
func (w *wakeup) signal() {
	w.lock.Lock()
	defer w.lock.Unlock()
	if !w.pending && !w.end {
		w.pending = true
		// It fails only when the pipe is full, and then the loop wakes anyway.
		_, _ = syscall.Write(w.write, []byte{1})
	}
}

// clear is called before the queue is read.
func (w *wakeup) clear() {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.pending {
		var some [16]byte
		_, _ = syscall.Read(w.read, some[:])
		w.pending = false
	}
}

func (w *wakeup) close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.end = true
	syscall.Close(w.read)
	syscall.Close(w.write)
}
