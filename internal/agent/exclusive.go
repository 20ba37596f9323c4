package agent

import (
	"context"
	"fmt"
)

// Exclusive keeps the sampler away from the driver, and lets go of every handle that
// this process holds: a reset or a change of mode needs a device that nobody uses. The
// samples say why meanwhile. The driver belongs to the caller until done is called.
func (s *Sampler) Exclusive(ctx context.Context, why string) (done func(), err error) {
	select {
	case s.driver <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the driver: %w", ctx.Err())
	}
	s.setPaused(why)
	done = func() {
		s.setPaused("")
		<-s.driver
		s.hurry()
	}
	if err := s.silence(ctx); err != nil {
		done()
		return nil, err
	}
	if err := s.opts.Driver.Release(ctx); err != nil {
		done()
		return nil, fmt.Errorf("letting go of the driver: %w", err)
	}
	return done, nil
}

func (s *Sampler) setPaused(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = why
}

// silence ends the listening to events and waits until it has.
func (s *Sampler) silence(ctx context.Context) error {
	s.mu.Lock()
	cancel, quiet := s.events, s.quiet
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the driver's events to end: %w", ctx.Err())
	}
}

// subscribe listens to events of the driver once nobody has it to himself.
func (s *Sampler) subscribe(ctx context.Context) (<-chan DriverEvent, error) {
	select {
	case s.driver <- struct{}{}:
		defer func() { <-s.driver }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	events, err := s.opts.Driver.Events(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.quiet = cancel, make(chan struct{})
	return events, nil
}

// unsubscribe says that nobody listens any more.
func (s *Sampler) unsubscribe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events == nil {
		return
	}
	s.events()
	s.events = nil
	close(s.quiet)
}
