package nvml

import (
	"context"
	"slices"
	"sync"

	"github.com/gpuctl/gpuctl/internal/agent"
)

// eventRoom is how many events wait for a slow reader. What comes then is dropped: the
// kernel log has it.
const eventRoom = 1024

// subscribers get the driver's events.
type subscribers struct {
	mu  sync.Mutex
	all []chan agent.DriverEvent
}

func (s *subscribers) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) > 0
}

func (s *subscribers) add() chan agent.DriverEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan agent.DriverEvent, eventRoom)
	s.all = append(s.all, ch)
	return ch
}

func (s *subscribers) remove(ch chan agent.DriverEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(c chan agent.DriverEvent) bool { return c == ch })
	close(ch)
}

func (s *subscribers) tell(e agent.DriverEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.all {
		select {
		case ch <- e:
		default:
		}
	}
}

// Events delivers what the driver reports until ctx ends. It goes on over restarts of
// the child; what happens in between is lost.
func (s *Supervised) Events(ctx context.Context) (<-chan agent.DriverEvent, error) {
	ch := s.events.add()
	c, err := s.current()
	if err == nil {
		var r *reply
		if r, err = c.ask(ctx, request{Op: opEvents}); err == nil {
			err = r.err()
		}
	}
	if err != nil {
		s.events.remove(ch)
		return nil, err
	}
	go func() {
		<-ctx.Done()
		s.events.remove(ch)
	}()
	return ch, nil
}
