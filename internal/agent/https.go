package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/agent/wire"
)

// HTTPSOptions say who may come in over the network.
type HTTPSOptions struct {
	CertFile, KeyFile string
	ClientCA          string   // PEM file: who signs clients' certificates
	Writers           []string // common names or organizational units that may change things
}

// TLSConfig is that of an HTTPS listener: nobody gets in without a certificate.
func (o HTTPSOptions) TLSConfig() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	pem, err := os.ReadFile(o.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("client CA: %s holds no certificate", o.ClientCA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
	}, nil
}

// peer is who a verified certificate names.
func (o HTTPSOptions) peer(state *tls.ConnectionState) (Peer, error) {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return Peer{}, errors.New("no verified client certificate")
	}
	subject := state.PeerCertificates[0].Subject
	names := append([]string{subject.CommonName}, subject.OrganizationalUnit...)
	write := slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(o.Writers, n) })
	return Peer{Name: "CN=" + subject.CommonName, Write: write}, nil
}

// ServeHTTPS talks to clients with a certificate, as wire.StreamPath says. It returns when ctx
// has ended and every client is gone.
func (v *Server) ServeHTTPS(ctx context.Context, l net.Listener, o HTTPSOptions) error {
	config, err := o.TLSConfig()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	sessions := newSessions(maxClients)
	mux.HandleFunc("GET "+wire.StreamPath, func(w http.ResponseWriter, r *http.Request) { v.upgrade(ctx, w, r, o, sessions) })
	return Serve(ctx, tls.NewListener(l, config), mux, sessions.wait)
}

// Serve serves HTTP until ctx ends; wait, which may be nil, waits for what the handlers
// took over.
func Serve(ctx context.Context, l net.Listener, h http.Handler, wait func()) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		server.Close()
	})
	err := server.Serve(l)
	if stop() {
		close(stopped) // it will never run
	}
	<-stopped
	if wait != nil {
		wait()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("serve %s: %w", l.Addr(), err)
}

// upgrade turns a request into a session.
func (v *Server) upgrade(ctx context.Context, w http.ResponseWriter, r *http.Request, o HTTPSOptions, s *sessions) {
	peer, err := o.peer(r.TLS)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	case !strings.EqualFold(r.Header.Get("Upgrade"), wire.StreamProtocol):
		w.Header().Set("Upgrade", wire.StreamProtocol)
		http.Error(w, "frames travel over an upgraded connection", http.StatusUpgradeRequired)
		return
	case !s.enter():
		http.Error(w, "too many clients", http.StatusServiceUnavailable)
		return
	}
	defer s.leave()
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be upgraded", http.StatusInternalServerError)
		return
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		raw.Close()
		return
	}
	c := &upgraded{Conn: raw, in: buffered.Reader}
	if _, err := fmt.Fprintf(conn{c}, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", wire.StreamProtocol); err != nil {
		raw.Close()
		return
	}
	v.session(ctx, peer, c)
}

// upgraded is a connection with what was read of it too early.
type upgraded struct {
	net.Conn
	in *bufio.Reader
}

func (u *upgraded) Read(p []byte) (int, error) { return u.in.Read(p) }
