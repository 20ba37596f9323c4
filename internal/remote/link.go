package remote

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// link is one live connection. It ends once, for one reason, and is not mended.
type link struct {
	client *ssh.Client
	slots  chan struct{} // one for each session that runs
	done   chan struct{}

	mu   sync.Mutex
	gone int   // slots that the server turned out not to have
	why  error // why it ended; set before done is closed
}

func newLink(client *ssh.Client) *link {
	return &link{client: client, slots: make(chan struct{}, maxSessions), done: make(chan struct{})}
}

// watch ends the link when its connection ends.
func (l *link) watch() {
	err := l.client.Wait()
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("the host closed the connection")
	}
	l.blame(err)
	close(l.done)
}

// blame keeps the first reason.
func (l *link) blame(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = err
	}
}

// end closes the connection for a reason.
func (l *link) end(err error) {
	l.blame(err)
	l.client.Close()
}

func (l *link) dead() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// reason is why the link ended. It is asked once something on it has failed in a
// way that only an ended or broken connection can.
func (l *link) reason() error {
	l.client.Close()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// keepAlive asks for a sign of life each interval, and ends the link when none
// comes for interval times limit. spawn runs a goroutine that ends with the link.
func (l *link) keepAlive(interval time.Duration, limit int, spawn func(f func())) {
	for {
		select {
		case <-l.done:
			return
		case <-time.After(interval):
		}
		answered := make(chan struct{})
		spawn(func() {
			defer close(answered)
			// Any answer will do, and an error means that the link is done.
			_, _, _ = l.client.SendRequest("keepalive@openssh.com", true, nil)
		})
		patience := interval * time.Duration(limit)
		select {
		case <-l.done:
			return
		case <-answered:
		case <-time.After(patience):
			l.end(fmt.Errorf("no sign of life for %s", patience))
			return
		}
	}
}

// shrink gives one slot up for good, because the server refused a session, and
// says whether other sessions run whose end is worth waiting for.
func (l *link) shrink() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.slots)-l.gone <= 1 {
		return false
	}
	l.gone++
	return true
}
