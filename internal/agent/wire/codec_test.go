package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReaderRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want error
	}{
		"nothing":        {"", io.EOF},
		"blank":          {"\n \n", io.EOF},
		"no JSON":        {"hello\n", ErrGarbage},
		"no part":        {"{}\n", ErrGarbage},
		"unknown part":   {`{"shutdown":{}}` + "\n", ErrGarbage},
		"two parts":      {`{"hello":{},"sample":{}}` + "\n", ErrGarbage},
		"wrong type":     {`{"request":"now"}` + "\n", ErrGarbage},
		"torn":           {`{"request":{"id":"1"`, io.ErrUnexpectedEOF},
		"endless":        {strings.Repeat("x", 300), ErrTooLong},
		"too long":       {`{"request":{"id":"` + strings.Repeat("x", 300) + "\"}}\n", ErrTooLong},
		"blank too long": {strings.Repeat(" ", 300) + "\n", ErrTooLong},
	} {
		_, err := NewReader(strings.NewReader(tc.in), 200).Next()
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func TestWriteThenRead(t *testing.T) {
	var b bytes.Buffer
	for _, f := range []Frame{{Hello: &Hello{Version: Version, Host: "n1"}}, {Request: &Request{ID: "1", Op: OpSample}}} {
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&b, 0)
	first, err1 := r.Next()
	second, err2 := r.Next()
	if err1 != nil || err2 != nil || first.Hello.Host != "n1" || second.Request.Op != OpSample {
		t.Fatalf("%+v %v, %+v %v", first, err1, second, err2)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("end: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"request":{"version":1,"id":"1","op":"gpu-reset","who":"bob","args":{"uuid":"GPU-1"}}}` + "\n"))
	f.Add([]byte("{\"hello\":{}}\n{\"sample\":null}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in), 1<<12)
		for range len(in) + 1 {
			frame, err := r.Next()
			if err != nil {
				return
			}
			if frame.parts() != 1 {
				t.Fatalf("%+v", frame)
			}
		}
		t.Fatal("more frames than bytes")
	})
}
