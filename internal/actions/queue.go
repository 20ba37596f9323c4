package actions

import (
	"context"
	"sync"
	"time"
)

// readerPatience is how long the events of a cancelled run wait for a reader.
const readerPatience = 10 * time.Second

// eventQueue hands events to one reader without ever making the run wait for it
// and without dropping any.
type eventQueue struct {
	out  chan Event
	wake chan struct{}

	mu     sync.Mutex
	items  []Event
	closed bool
}

func newEventQueue() *eventQueue {
	return &eventQueue{out: make(chan Event), wake: make(chan struct{}, 1)}
}

func (q *eventQueue) push(ev Event) {
	q.mu.Lock()
	q.items = append(q.items, ev)
	q.mu.Unlock()
	q.signal()
}

// close ends the queue once everything in it was read.
func (q *eventQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (q *eventQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // the pump has yet to see the last signal
	}
}

func (q *eventQueue) take() (items []Event, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, nil
	return items, q.closed
}

// pump delivers until the queue is closed and empty, then closes out. Its only
// other end is a reader that went away after ctx ended.
func (q *eventQueue) pump(ctx context.Context) {
	defer close(q.out)
	for range q.wake {
		items, closed := q.take()
		for _, ev := range items {
			if !q.deliver(ctx, ev) {
				return
			}
		}
		if closed {
			return
		}
	}
}

func (q *eventQueue) deliver(ctx context.Context, ev Event) bool {
	select {
	case q.out <- ev:
		return true
	case <-ctx.Done():
	}
	patience := time.NewTimer(readerPatience)
	defer patience.Stop()
	select {
	case q.out <- ev:
		return true
	case <-patience.C:
		return false
	}
}
