package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/audit"
	"github.com/gpuctl/gpuctl/internal/config"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/tui"
)

// console opens the screen.
func (a *app) console(ctx context.Context) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return failf(exitUsage, "the console needs a terminal (with srun add --pty, with ssh add -t); for one report use: gpuctl get nodes")
	}
	s, err := a.open(ctx, "")
	if err != nil {
		return err
	}
	defer s.close()
	snapshots, stop := s.store.Subscribe()
	defer stop()
	runs, _ := actions.OpenRuns(s.journalDir())
	prefs := loadPrefs(s.config)
	err = tui.Run(ctx, tui.Options{
		Snapshots: snapshots, Engine: s.engine, Refresh: s.refreshAll,
		JobDetail: s.jobSections, NodeDetail: s.nodeSections, JobLog: s.jobLog, Audit: s.auditSections,
		Guards: s.guards(), Production: s.production(), ReadOnly: s.readOnly(), OpenRuns: s.unfinished(),
		Prefs: prefs, SavePrefs: savePrefs(s.config), Themes: userThemes(),
		ASCII: a.ascii || s.config.ASCII || narrowCharset(os.Getenv), NoColor: a.noColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb",
	})
	if err != nil {
		return fail(exitFailed, fmt.Errorf("console: %w", err))
	}
	for i := range runs { // they were shown
		err = errors.Join(err, runs[i].Close())
	}
	return fail(exitFailed, err)
}

// narrowCharset reports a locale whose characters are not those of UTF-8. Where none
// is set, nothing is known: terminals of today have UTF-8.
func narrowCharset(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(getenv(name)); locale != "" {
			return !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
		}
	}
	return false
}

func (s *session) refreshAll() {
	for name := range s.clients {
		s.keeper.Refresh(name)
	}
}

func (s *session) guards() map[string]actions.Guard {
	g := map[string]actions.Guard{}
	for _, c := range s.config.Clusters {
		g[c.Name] = actions.Guard(c.Guard)
	}
	return g
}

func (s *session) production() map[string]bool {
	p := map[string]bool{}
	for _, c := range s.config.Clusters {
		p[c.Name] = c.Production
	}
	return p
}

// jobSections is the part of a job's detail that the poll does not carry.
func (s *session) jobSections(ctx context.Context, k fleet.JobKey) ([]tui.Section, error) {
	details, err := s.jobDetail(ctx, k.Cluster, k.ID)
	if errors.Is(err, slurm.ErrNotFound) {
		return []tui.Section{{Title: "Slurm", Text: "no longer known to slurmctld"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []tui.Section
	for i := range details {
		d := &details[i]
		var on []string
		for _, alloc := range d.Alloc {
			on = append(on, alloc.Node+"  "+gresWords(alloc.GRES))
		}
		if len(on) > 0 {
			out = append(out, tui.Section{Title: "Holds", Text: strings.Join(on, "\n")})
		}
		if files := outputs(details[i : i+1]); len(files) > 0 {
			out = append(out, tui.Section{Title: "Writes", Text: strings.Join(files, "\n")})
		}
		if d.Raw != "" {
			out = append(out, tui.Section{Title: "Slurm", Text: d.Raw})
		}
	}
	return out, nil
}

// nodeSections is the scheduler's own text of a node, freshly.
func (s *session) nodeSections(ctx context.Context, cluster, node string) ([]tui.Section, error) {
	client := s.clients[cluster]
	if client == nil {
		return nil, nil
	}
	t, _, err := client.Reader(ctx)
	if err != nil {
		return nil, err
	}
	v, err := t.Node(ctx, node)
	if err != nil {
		return nil, err
	}
	return []tui.Section{{Title: cluster, Text: v.Raw}}, nil
}

// auditReach is how far back the console's audit page looks.
const auditReach = 7 * 24 * time.Hour

func (s *session) auditSections(context.Context) ([]tui.Section, error) {
	records, _, err := s.audit.Read(time.Now().Add(-auditReach), audit.Filter{})
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := audit.Table(&text, records); err != nil {
		return nil, err
	}
	return []tui.Section{{Title: "Audit, last seven days", Text: text.String()}}, nil
}

func savePrefs(c *config.Config) func(tui.Prefs) error {
	path := prefsFile(c)
	if path == "" {
		return nil
	}
	return func(p tui.Prefs) error { return writePrefs(path, p) }
}
