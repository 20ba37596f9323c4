package remote

import (
	"context"
	"errors"
)

// errLeft says that await did not wait; drop takes care of the result.
var errLeft = errors.New("not waited for")

// await runs f, which knows no context, and waits for it or for ctx. When ctx ends
// first it returns errLeft, and drop gets the result later. c owns the goroutine.
func await[T any](ctx context.Context, c *Conn, f func() (T, error), drop func(T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	ready := make(chan result)
	ran := c.spawn(func() {
		v, err := f()
		select {
		case ready <- result{v, err}:
		case <-ctx.Done():
			drop(v, err)
		}
	})
	var none T
	if !ran {
		return none, ErrClosed
	}
	select {
	case r := <-ready:
		return r.v, r.err
	case <-ctx.Done():
		return none, errLeft
	}
}
