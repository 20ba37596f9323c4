package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What a Reader refuses. After either, the peer is to be cut off.
var (
	ErrTooLong = errors.New("frame too long")
	ErrGarbage = errors.New("not a frame")
)

// Reader reads frames of a peer that is not trusted.
type Reader struct {
	in    *bufio.Reader
	limit int
}

// NewReader returns a reader that refuses lines longer than limit bytes; 0 stands for
// MaxFrame.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxFrame
	}
	return &Reader{in: bufio.NewReader(r), limit: limit}
}

// Next returns the next frame. It fails with io.EOF at an end between frames, and with
// ErrTooLong or ErrGarbage for what is none.
func (r *Reader) Next() (Frame, error) {
	line, err := r.line()
	if err != nil {
		return Frame{}, err
	}
	var f Frame
	if err := json.Unmarshal(line, &f); err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrGarbage, err)
	}
	if n := f.parts(); n != 1 {
		return Frame{}, fmt.Errorf("%w: %d known parts instead of 1", ErrGarbage, n)
	}
	return f, nil
}

// line returns the next line that is not blank. It never holds more than the limit
// and one buffer.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > r.limit {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.limit)
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (f *Frame) parts() int {
	n := 0
	for _, set := range []bool{f.Hello != nil, f.Sample != nil, f.Request != nil, f.Progress != nil, f.Reply != nil} {
		if set {
			n++
		}
	}
	return n
}

// Write sends one frame as one line, in one call of w.
func Write(w io.Writer, f Frame) error {
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	if len(line) >= MaxFrame {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, len(line))
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
