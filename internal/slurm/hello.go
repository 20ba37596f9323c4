package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpuctl/gpuctl/internal/fleet"
)

// helloSettings are the lines of slurm.conf that plans need.
var helloSettings = []string{
	"PreemptMode", "PreemptType", "GraceTime", "HealthCheckProgram", "ReturnToService",
	"MinJobAge", "SelectType", "JobRequeue", "KillWait",
}

// Hello implements Transport.
func (c *commands) Hello(ctx context.Context) (Hello, error) {
	asked := time.Now()
	text, err := c.ask(ctx, "scontrol", "show", "config")
	if err != nil {
		return Hello{}, err
	}
	conf := textSettings(text)
	h := Hello{
		Version: conf.values["SLURM_VERSION"],
		Native:  conf.values["ClusterName"],
		Skew:    skew(conf.asOf, asked, time.Now()),
		Config:  make(map[string]string, len(helloSettings)),
	}
	if h.Version == "" {
		return Hello{}, fmt.Errorf("scontrol show config: %w: no SLURM_VERSION in it", ErrDecode)
	}
	for _, key := range helloSettings {
		if v := conf.values[key]; v != "" {
			h.Config[key] = v
		}
	}
	storage := conf.values["AccountingStorageType"]
	h.Accounting = storage != "" && !strings.HasSuffix(storage, "none")
	id, err := c.identity(ctx)
	if err != nil {
		return Hello{}, err
	}
	h.User, h.Offset = id.user, id.offset
	h.Role = c.role(ctx, id.user, conf, h.Accounting)
	return h, nil
}

// skew is slurmctld's clock minus ours. Its answer has whole seconds and came at
// some moment between asked and got, so that much is no skew.
func skew(theirs, asked, got time.Time) time.Duration {
	early, late := asked.Add(-time.Second), got
	switch {
	case theirs.IsZero():
		return 0
	case theirs.Before(early):
		return theirs.Sub(early).Round(time.Second)
	case theirs.After(late):
		return theirs.Sub(late).Round(time.Second)
	}
	return 0
}

// identity asks who we are where the commands run, and the zone there.
func (c *commands) identity(ctx context.Context) (identity, error) {
	c.mu.Lock()
	known := c.id
	c.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	user, err := c.ask(ctx, "id", "-un")
	if err != nil {
		return identity{}, err
	}
	zone, err := c.ask(ctx, "env", "-u", "TZ", "date", "+%z")
	if err != nil {
		return identity{}, err
	}
	id := identity{user: lastLine(user), offset: zoneOffset(lastLine(zone))}
	c.mu.Lock()
	c.id = &id
	c.mu.Unlock()
	return id, nil
}

// lastLine is the answer of a command that has one line: a login shell may write
// before it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// zoneOffset reads "+0530"; 0 when it is anything else.
func zoneOffset(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || len(text) != 5 {
		return 0
	}
	return time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
}

// role asks how much the user may do.
func (c *commands) role(ctx context.Context, user string, conf settings, accounting bool) fleet.Role {
	slurmUser, _, _ := strings.Cut(conf.values["SlurmUser"], "(")
	if user == "root" || user == slurmUser {
		return fleet.RoleAdministrator
	}
	if !accounting || checkUser(user) != nil {
		return fleet.RoleUnknown
	}
	text, err := c.ask(ctx, "sacctmgr", "-nP", "show", "user", user, "format=adminlevel")
	if err != nil {
		return fleet.RoleUnknown
	}
	return roleOf(text)
}

// roleOf reads an AdminLevel. A user that accounting does not know has no level.
func roleOf(text string) fleet.Role {
	switch strings.ToLower(lastLine(text)) {
	case "administrator", "admin":
		return fleet.RoleAdministrator
	case "operator":
		return fleet.RoleOperator
	case "none", "":
		return fleet.RoleUser
	}
	return fleet.RoleUnknown
}
