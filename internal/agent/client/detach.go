package client

import (
	"errors"
	"io"
)

// detach makes a stream whose Close ends pending reads and writes at once, of one that
// may block as long as its connection is dead: an SSH channel. What is left blocked
// ends with that connection. The buffers are small: there may be hundreds of streams.
func detach(r io.Reader, w io.Writer, end func() error) io.ReadWriteCloser {
	in, inFeed := io.Pipe()
	outDrain, out := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(inFeed, r, make([]byte, 8<<10))
		inFeed.CloseWithError(orEOF(err))
	}()
	go func() {
		_, err := io.CopyBuffer(w, outDrain, make([]byte, 1<<10))
		outDrain.CloseWithError(err)
	}()
	return &detached{PipeReader: in, out: out, end: end}
}

// orEOF is the end of a stream that was read to its end.
func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// detached is the near side of the pipes.
type detached struct {
	*io.PipeReader
	out *io.PipeWriter
	end func() error
}

// Write implements io.Writer.
func (d *detached) Write(p []byte) (int, error) { return d.out.Write(p) }

// Close ends both directions and then, without waiting, the stream itself.
func (d *detached) Close() error {
	err := errors.Join(d.PipeReader.Close(), d.out.Close())
	go func() { _ = d.end() }()
	return err
}
