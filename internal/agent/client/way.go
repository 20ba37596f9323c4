package client

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
)

// Way is how agents are reached. The context bounds the dialling, and for a process
// its life.
type Way interface {
	// Dial opens a stream to the agent on host, whose Close ends pending reads and
	// writes at once.
	Dial(ctx context.Context, host string) (io.ReadWriteCloser, error)
	// Via names the way to host for people; an empty host stands for all.
	Via(host string) string
}

// checkHost keeps out names that could lead somewhere else in a path, a command or an
// address.
func checkHost(host string) error {
	if host == "" || host[0] == '-' || host[0] == '.' || strings.ContainsFunc(host, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return fmt.Errorf("%q cannot be a host name", host)
	}
	return nil
}

// nodeMark stands for the node's name in a path or address.
const nodeMark = "{node}"

// SocketWay reaches agents through unix sockets: of this machine, or of a host that
// Dialer connects to.
type SocketWay struct {
	Path string // "/run/gpuctl/{node}.sock"
	Name string // of the way, for people: "socket", "socket over ssh login1"
	// DialUnix connects to a socket; of this machine unless set.
	DialUnix func(ctx context.Context, path string) (net.Conn, error)
}

// Dial implements Way.
func (w *SocketWay) Dial(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	if err := checkHost(host); err != nil {
		return nil, err
	}
	path := strings.ReplaceAll(w.Path, nodeMark, host)
	if w.DialUnix == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		return conn, nil
	}
	conn, err := w.DialUnix(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	return detach(conn, conn, conn.Close), nil
}

// Via implements Way.
func (w *SocketWay) Via(host string) string {
	if host == "" {
		return w.Name
	}
	return w.Name + " " + strings.ReplaceAll(w.Path, nodeMark, host)
}
