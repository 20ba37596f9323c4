package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// Hello implements Transport. It asks ping, diag and slurmdbd's record of the user,
// and slurm.conf where that can be had. slurmrestd tells no zone: its times are
// absolute.
func (t *rest) Hello(ctx context.Context) (Hello, error) {
	m, pings, err := t.ping(ctx)
	if err != nil {
		return Hello{}, err
	}
	asked := time.Now()
	stats, err := t.Stats(ctx) // newer versions answer a ping whatever the token
	if err != nil {
		return Hello{}, err
	}
	if down := allDown(pings); down != "" {
		return Hello{}, fmt.Errorf("%w: slurmctld on %s does not answer slurmrestd", ErrUnreachable, down)
	}
	h := Hello{
		Version: m.Release,
		Native:  m.Cluster,
		API:     t.known(),
		Skew:    skew(stats.At, asked, time.Now()),
		Role:    fleet.RoleUnknown,
	}
	if h.User, err = t.identity(ctx, m); err != nil {
		return Hello{}, err
	}
	h.Role, h.Accounting = t.role(ctx, h.User, m)
	if h.Native == "" && h.Accounting {
		h.Native = t.onlyCluster(ctx)
	}
	if versionNumber(h.API) >= confAPI {
		h.Config = t.config(ctx)
	}
	return h, nil
}

// config reads the lines of slurm.conf that plans need; nil when it may not.
func (t *rest) config(ctx context.Context) map[string]string {
	conf, err := fetch(ctx, t, request{path: "/conf"}, decodeConfig)
	if err != nil {
		return nil
	}
	return conf
}

// ping asks slurmrestd who it is and whether its slurmctld answers.
func (t *rest) ping(ctx context.Context) (meta, []ping, error) {
	a, err := t.do(ctx, request{method: http.MethodGet, path: "/ping"}, func(r io.Reader) (answer, error) {
		return decodeAnswer(r, "", nil)
	})
	return a.Meta, a.Pings, err
}

// allDown names the last controller when none of them answers; empty else.
func allDown(pings []ping) string {
	host := ""
	for _, p := range pings {
		if p.Up {
			return ""
		}
		host = p.Host
	}
	return host
}

// identity is whom we act as: the user of the token, or whoever runs the slurmrestd
// behind a socket. That is the socket's owner; of a socket elsewhere meta tells who
// connected, which is the owner too unless it was root. Empty when nothing tells.
func (t *rest) identity(ctx context.Context, m meta) (string, error) {
	tok, err := t.token(ctx)
	switch {
	case err != nil:
		return "", err
	case tok != "" || t.opts.User != "":
		return t.user(tok), nil
	case t.opts.Socket != "":
		return socketOwner(t.opts.Socket), nil
	case m.User != "root" && m.User != "nobody":
		return m.User, nil
	}
	return "", nil
}

// socketOwner is the user who owns a local socket; empty when there is none.
func socketOwner(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	uid := strconv.FormatUint(uint64(st.Uid), 10)
	u, err := user.LookupId(uid)
	if err != nil {
		return uid
	}
	return u.Username
}

// role asks slurmdbd how much the user may do; an answer means that there is
// accounting.
func (t *rest) role(ctx context.Context, name string, m meta) (fleet.Role, bool) {
	role, keeps := fleet.RoleUnknown, m.Storage == slurmdbd
	if checkUser(name) != nil {
		return role, keeps
	}
	q := request{db: true, path: "/user/" + url.PathEscape(name)}
	roles, err := fetch(ctx, t, q, decodeRoles)
	switch {
	case err == nil:
		role, keeps = fleet.RoleUser, true
	case errors.Is(err, ErrDenied):
		keeps = true
	}
	if r, ok := roles[name]; ok {
		role = r
	}
	if name == "root" {
		role = fleet.RoleAdministrator
	}
	return role, keeps
}

// onlyCluster is the name of the cluster when slurmdbd knows just one; v0.0.38 has
// it nowhere else.
func (t *rest) onlyCluster(ctx context.Context) string {
	names, err := fetch(ctx, t, request{db: true, path: "/clusters"}, func(r io.Reader) ([]string, answer, error) {
		return decodeList(r, "clusters", func(r record) string { return r.text("name") })
	})
	if err != nil || len(names) != 1 {
		return ""
	}
	return names[0]
}
