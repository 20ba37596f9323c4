package agent

import "sync"

// sessions counts clients whose connections no server owns any more.
type sessions struct {
	slots chan struct{}
	work  sync.WaitGroup
}

func newSessions(limit int) *sessions { return &sessions{slots: make(chan struct{}, limit)} }

// enter takes a place; false: there is none.
func (s *sessions) enter() bool {
	if !take(s.slots) {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *sessions) leave() {
	<-s.slots
	s.work.Done()
}

func (s *sessions) wait() { s.work.Wait() }
