package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// HTTPSWay reaches agents that listen for HTTPS and want a client certificate.
type HTTPSWay struct {
	Port int
	TLS  *tls.Config
	// DialTCP opens connections; net.Dialer unless set.
	DialTCP func(ctx context.Context, addr string) (net.Conn, error)
	Name    string // of the way, for people; "https" unless set
}

// LoadTLS reads the files that both sides know each other by. Certificate and key are
// read again for each connection, so that short-lived ones may be renewed.
func LoadTLS(caFile, certFile, keyFile string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", caFile)
		}
	}
	if certFile != "" {
		if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			return &pair, err
		}
	}
	return c, nil
}

// Dial implements Way.
func (w *HTTPSWay) Dial(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	if err := checkHost(host); err != nil {
		return nil, err
	}
	raw, err := w.tcp(ctx, net.JoinHostPort(host, strconv.Itoa(w.Port)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	config := w.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName = host
	}
	conn := tls.Client(raw, config)
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	in, err := upgrade(ctx, conn, host)
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("%s: %w", host, whyNot(ctx, err))
	}
	return &upgraded{Reader: in, Conn: conn, raw: raw}, nil
}

func (w *HTTPSWay) tcp(ctx context.Context, addr string) (net.Conn, error) {
	if w.DialTCP != nil {
		return w.DialTCP(ctx, addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// upgrade asks for the stream of frames.
func upgrade(ctx context.Context, conn *tls.Conn, host string) (*bufio.Reader, error) {
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+wire.StreamPath, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", wire.StreamProtocol)
	if err = r.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return in, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000)) // what there is of it
	return nil, fmt.Errorf("the agent answers %s: %s", answer.Status, lastLine(text))
}

// whyNot says in plain words why there is no connection.
func whyNot(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer in time: %w", ctx.Err())
	case errors.As(err, &op) && op.Op == "remote error":
		return fmt.Errorf("the agent does not accept our certificate: %w", err)
	}
	return err
}

// upgraded is a connection whose first bytes are already read.
type upgraded struct {
	io.Reader
	net.Conn
	raw net.Conn
}

// Read implements io.Reader.
func (u *upgraded) Read(p []byte) (int, error) { return u.Reader.Read(p) }

// Close ends the connection at once; TLS would wait for a pending write.
func (u *upgraded) Close() error { return u.raw.Close() }

// Via implements Way.
func (w *HTTPSWay) Via(host string) string {
	name := w.Name
	if name == "" {
		name = "https"
	}
	if host == "" {
		return name
	}
	return name + " " + net.JoinHostPort(host, strconv.Itoa(w.Port))
}
