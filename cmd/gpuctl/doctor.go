package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/slurm"
)

// probePatience is how long one transport may take to answer the doctor.
const probePatience = 15 * time.Second

func newDoctor(a *app) *cobra.Command {
	var bundle string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Reach every source every way, and say what each identity may do",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), bundle) },
	}
	cmd.Flags().StringVar(&bundle, "bundle", "", "also write the report, the config and a snapshot into this .tar.gz, without secrets")
	return cmd
}

func (a *app) doctor(ctx context.Context, bundle string) error {
	s, err := a.load("")
	if err != nil {
		return err
	}
	if err := s.build(); err != nil {
		return err
	}
	defer s.close()
	var said bytes.Buffer
	out := io.MultiWriter(a.stdout, &said)
	fmt.Fprintln(out, versionText())
	s.examineFiles(out)
	sick := false
	for _, c := range s.config.Clusters {
		if client := s.clients[c.Name]; client != nil {
			sick = !examineCluster(ctx, out, c.Name, client) || sick
		}
	}
	if bundle != "" {
		if err := s.writeBundle(ctx, bundle, said.Bytes()); err != nil {
			return err
		}
	}
	if sick {
		return &exitError{code: exitSource}
	}
	return nil
}

// examineFiles reports on the config, the audit log and the journal.
func (s *session) examineFiles(w io.Writer) {
	for _, f := range s.files {
		report(w, f.Err == nil, "config %s (%s): %s", f.Path, f.Why, f.State())
	}
	if err := s.audit.Ready(); err != nil {
		report(w, false, "audit log: %v; nothing can be done until it can be written", err)
	} else {
		report(w, true, "audit log %s can be written", s.config.Audit(os.Getenv))
	}
	if why := s.readOnly(); why != "" {
		report(w, true, "read-only: %s", why)
	}
	for _, line := range s.unfinished() {
		report(w, false, "%s", line)
	}
}

// unfinished says what a killed gpuctl left, one sentence a run.
func (s *session) unfinished() []string {
	runs, err := actions.OpenRuns(s.journalDir())
	var lines []string
	if err != nil {
		lines = append(lines, "journal: "+err.Error())
	}
	for i := range runs {
		lines = append(lines, runs[i].Summary())
	}
	return lines
}

// examineCluster tries every transport; false when one of them fails.
func examineCluster(ctx context.Context, w io.Writer, name string, client *slurm.Client) bool {
	fmt.Fprintf(w, "cluster %s\n", name)
	well := true
	for _, t := range client.Transports() {
		began := time.Now()
		hctx, cancel := context.WithTimeout(ctx, probePatience)
		h, err := t.Hello(hctx)
		cancel()
		if err != nil {
			report(w, false, "%s: %v", t.Via(), err)
			well = false
			continue
		}
		api := ""
		if h.API != "" {
			api = " over " + h.API
		}
		report(w, true, "%s: Slurm %s%s, cluster %s, as %s (%s), %d ms", t.Via(), h.Version, api, h.Native, h.User, h.Role, time.Since(began).Milliseconds())
		if h.Skew > time.Second || h.Skew < -time.Second {
			report(w, false, "%s: its clock is %s off", t.Via(), h.Skew.Round(time.Second))
		}
		examineRights(w, t, h)
	}
	return well
}

func examineRights(w io.Writer, t slurm.Transport, h slurm.Hello) {
	var can []string
	for _, op := range slurm.Ops() {
		if err := t.Can(op); err != nil {
			fmt.Fprintf(w, "      cannot %s: %v\n", op, err)
			continue
		}
		can = append(can, string(op))
	}
	fmt.Fprintf(w, "      can %s\n", strings.Join(can, ", "))
	switch h.Role {
	case fleet.RoleUser:
		fmt.Fprintln(w, "      may act on own jobs only: AdminLevel=Operator is needed for others' jobs, Administrator for nodes")
	case fleet.RoleOperator:
		fmt.Fprintln(w, "      may act on every job, but not on nodes: that needs AdminLevel=Administrator")
	case fleet.RoleAdministrator:
		fmt.Fprintln(w, "      may act on jobs and nodes")
	case fleet.RoleUnknown:
		fmt.Fprintln(w, "      its rights could not be told")
	}
}

// report writes one line: what is well, or what is not.
func report(w io.Writer, well bool, format string, args ...any) {
	mark := "ok  "
	if !well {
		mark = "BAD "
	}
	fmt.Fprintf(w, "  "+mark+format+"\n", args...)
}

// bundleName is the folder inside the archive.
const bundleName = "gpuctl-doctor"

// writeBundle gathers what a bug report needs. The config names files, variables
// and commands of tokens, never a token; raw records are left out, for users write
// what they like into comments.
func (s *session) writeBundle(ctx context.Context, path string, report []byte) error {
	cfg, err := s.config.YAML()
	if err != nil {
		return fail(exitFailed, err)
	}
	s.start(ctx)
	snap, err := s.snapshotJSON(ctx)
	if err != nil {
		snap = []byte(err.Error() + "\n")
	}
	files := []archived{
		{filepath.Join(bundleName, "report.txt"), report},
		{filepath.Join(bundleName, "config.yaml"), cfg},
		{filepath.Join(bundleName, "snapshot.json"), snap},
	}
	if err := writeArchive(path, files, time.Now()); err != nil {
		return fail(exitFailed, fmt.Errorf("bundle: %w", err))
	}
	fmt.Fprintf(s.app.stdout, "wrote %s\n", path)
	return nil
}
