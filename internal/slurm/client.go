package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Client is one cluster with its transports in order of cost.
type Client struct {
	transports []Transport
}

// New returns a client that reads over the first transport that answers and
// writes over the first that can. At least one transport is needed.
func New(transports ...Transport) *Client { return &Client{transports: transports} }

// Via names the transports, in order.
func (c *Client) Via() []string {
	names := make([]string, len(c.transports))
	for i, t := range c.transports {
		names[i] = t.Via()
	}
	return names
}

// Reader returns the first transport that answers Hello, with its answer. The
// error joins what each of them said.
func (c *Client) Reader(ctx context.Context) (Transport, Hello, error) {
	var errs []error
	for _, t := range c.transports {
		h, err := t.Hello(ctx)
		if err == nil {
			return t, h, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", t.Via(), err))
	}
	return nil, Hello{}, errors.Join(errs...)
}

// Writer returns the first transport that can do op; the error joins why each
// cannot.
func (c *Client) Writer(op Op) (Transport, error) {
	var errs []error
	for _, t := range c.transports {
		err := t.Can(op)
		if err == nil {
			return t, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", t.Via(), err))
	}
	return nil, errors.Join(errs...)
}

// Transports returns the transports in order, for a health report.
func (c *Client) Transports() []Transport { return slices.Clone(c.transports) }
