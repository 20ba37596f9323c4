package slurm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// RESTOptions say how to reach one slurmrestd, and as whom.
type RESTOptions struct {
	// URL is "http://host:6820" or "https://...". With Socket or Dial it may be empty.
	URL string
	// Socket is the path of a unix socket of slurmrestd on this machine. It needs no
	// token: slurmrestd lets in its own user and root, and acts as its own user.
	Socket string
	// Dial makes the connections instead, such as through an SSH connection to the
	// socket or port on the far side.
	Dial func(ctx context.Context) (net.Conn, error)

	User  string      // for X-SLURM-USER-NAME; empty: the user the token names
	Token TokenSource // nil: no token is sent

	APIVersion string        // "v0.0.42"; empty: the newest that both sides know
	CAFile     string        // PEM file of the authority to trust instead of the system's
	Timeout    time.Duration // of one request with its whole answer; 0: 30 s
	Name       string        // for Via; empty: made of the address
}

// maxRESTAnswer limits what is read of one answer.
const maxRESTAnswer = 512 << 20

// rest is the transport over slurmrestd.
type rest struct {
	opts RESTOptions
	base string // "http://host:6820", no slash at the end
	http *http.Client
	most int64 // bytes of one answer

	mu      sync.Mutex
	api     string // the version in use; empty: not asked yet
	slurm   string // "22.05.8", once told
	storage string // "accounting_storage/slurmdbd", once told; older versions never do
}

// NewREST returns a transport over slurmrestd. Nothing is sent before the first
// call. What its version cannot do it says through Can, once Hello was called.
func NewREST(opts RESTOptions) (Transport, error) {
	base := strings.TrimSuffix(opts.URL, "/")
	if base == "" && (opts.Socket != "" || opts.Dial != nil) {
		base = "http://slurmrestd"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("slurmrestd address %q: %w: want http://host:port", opts.URL, ErrInput)
	}
	if opts.APIVersion != "" && versionNumber(opts.APIVersion) < oldestAPI {
		return nil, fmt.Errorf("slurmrestd version %q: %w: want %s or later", opts.APIVersion, ErrInput, apiName(oldestAPI))
	}
	conf, err := tlsConfig(opts)
	if err != nil {
		return nil, err
	}
	if opts.Timeout == 0 {
		opts.Timeout = 30 * time.Second
	}
	return &rest{opts: opts, base: base, most: maxRESTAnswer, http: &http.Client{
		Transport:     roundTripper(opts, conf),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// tlsConfig is the TLS side of the options.
func tlsConfig(opts RESTOptions) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if opts.CAFile == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(opts.CAFile)
	if err != nil {
		return nil, fmt.Errorf("authority of slurmrestd: %w", err)
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("authority of slurmrestd: %s holds no certificate: %w", opts.CAFile, ErrInput)
	}
	return conf, nil
}

// roundTripper makes the connections. Redirects are not followed and idle
// connections are dropped soon: slurmrestd closes its own after a while, and a
// write sent into such a connection could not be sent again safely.
func roundTripper(opts RESTOptions, conf *tls.Config) *http.Transport {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     conf,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     5 * time.Second,
	}
	var d net.Dialer
	switch {
	case opts.Dial != nil:
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return opts.Dial(ctx) }
	case opts.Socket != "":
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", opts.Socket)
		}
	default:
		d.Timeout = 10 * time.Second
		t.DialContext = d.DialContext
	}
	return t
}

// Via names the transport for people.
func (t *rest) Via() string {
	switch {
	case t.opts.Name != "":
		return t.opts.Name
	case t.opts.Socket != "":
		return "rest unix:" + t.opts.Socket
	}
	return "rest " + t.base
}

// user is whom requests are made as: the configured user, else the token's.
func (t *rest) user(tok string) string {
	if t.opts.User != "" {
		return t.opts.User
	}
	return readClaims(tok).user
}

// errNoPath: slurmrestd does not know the URL; it may have been upgraded.
var errNoPath = errors.New("slurmrestd does not know this URL")
