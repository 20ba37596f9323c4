package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gpuctl/gpuctl/internal/actions"
	"github.com/gpuctl/gpuctl/internal/actions/audit"
	slurmactions "github.com/gpuctl/gpuctl/internal/actions/slurm"
	"github.com/gpuctl/gpuctl/internal/config"
	"github.com/gpuctl/gpuctl/internal/fleet"
	"github.com/gpuctl/gpuctl/internal/remote"
	"github.com/gpuctl/gpuctl/internal/slurm"
	"github.com/gpuctl/gpuctl/internal/sources"
	slurmsource "github.com/gpuctl/gpuctl/internal/sources/slurm"
	"github.com/gpuctl/gpuctl/internal/triage"
)

// defaultCluster is what the cluster of this machine is called without a config.
const defaultCluster = "local"

// session is everything that runs while a command does: connections, the store,
// and who acts.
type session struct {
	app     *app
	config  *config.Config
	files   []config.File
	clients map[string]*slurm.Client // by cluster name
	pool    *remote.Pool
	store   *fleet.Store
	keeper  *sources.Supervisor
	engine  *actions.Engine
	audit   *audit.Log
	agents  agents             // nil: there are no node agents
	cancel  context.CancelFunc // nil: not started
	running sync.WaitGroup
}

// open reads the config and starts every source, of one cluster only when asked.
func (a *app) open(ctx context.Context, cluster string) (*session, error) {
	s, err := a.load(cluster)
	if err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	s.start(ctx)
	return s, nil
}

// start connects, until close.
func (s *session) start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.running.Go(func() { _ = s.store.Run(ctx) })
	s.running.Go(func() { _ = s.keeper.Run(ctx) })
}

// load reads the config and connects nothing.
func (a *app) load(cluster string) (*session, error) {
	cfg, files, err := config.Load(config.Options{File: a.configFile})
	if err != nil {
		return nil, fail(exitUsage, err)
	}
	for i := range files {
		if files[i].Err != nil {
			say(a.stderr, "gpuctl: config %s %s", files[i].Path, files[i].State())
		}
	}
	if len(cfg.Clusters) == 0 {
		if err := discover(cfg, files); err != nil {
			return nil, err
		}
	}
	if cluster == "" {
		cluster = a.context
	}
	if cluster != "" {
		if err := narrow(cfg, cluster); err != nil {
			return nil, err
		}
	}
	return &session{app: a, config: cfg, files: files, clients: map[string]*slurm.Client{}}, nil
}

// discover takes the Slurm of this machine where the config names no cluster.
func discover(cfg *config.Config, files []config.File) error {
	if _, err := slurm.FindCommand("scontrol"); err != nil {
		var looked []string
		for _, f := range files {
			looked = append(looked, f.Path)
		}
		return failf(exitUsage, "no cluster is configured (looked at %s), and this machine has no Slurm commands; write a config with: gpuctl config init", strings.Join(looked, ", "))
	}
	cfg.Clusters = []config.Cluster{{Name: defaultCluster, Slurm: &config.Slurm{Local: &config.Local{}}}}
	return nil
}

func narrow(cfg *config.Config, cluster string) error {
	var known []string
	for _, c := range cfg.Clusters {
		if c.Name == cluster {
			cfg.Clusters = []config.Cluster{c}
			return nil
		}
		known = append(known, c.Name)
	}
	return failf(exitUsage, "no cluster %q in the config; there are %s", cluster, strings.Join(known, ", "))
}

// build makes the parts and puts them together.
func (s *session) build() error {
	s.pool = remote.NewPool(remote.Options{})
	logger, err := s.app.log()
	if err != nil {
		return err
	}
	agents, err := s.connectAgents()
	if err != nil {
		return err
	}
	var srcs []sources.Source
	backends := map[string]actions.Backend{}
	for i := range s.config.Clusters {
		c := &s.config.Clusters[i]
		if c.Slurm == nil {
			fmt.Fprintf(s.app.stderr, "gpuctl: cluster %s is left out: this gpuctl speaks to Slurm only\n", c.Name)
			continue
		}
		client, err := slurmClient(c.Slurm, s.pool)
		if err != nil {
			return fail(exitUsage, fmt.Errorf("cluster %s: %w", c.Name, err))
		}
		s.clients[c.Name] = client
		srcs = append(srcs, slurmsource.New(slurmsource.Options{Cluster: c.Name, Client: client, Log: logger, Interval: time.Duration(c.Interval)}))
		backends[c.Name] = s.onNodes(c.Name, slurmactions.New(slurmactions.Options{Cluster: c.Name, Client: client, Operator: operator()}))
	}
	if len(srcs) == 0 {
		return failf(exitUsage, "no cluster to connect to")
	}
	if agents != nil {
		srcs = append(srcs, agents)
	}
	relay := &relay{}
	s.keeper = sources.NewSupervisor(relay, sources.Options{Log: logger}, srcs...)
	s.store = fleet.NewStore(fleet.StoreOptions{Sources: s.keeper.States(), Hosts: s.config.Nodes, Evaluate: triage.Evaluate})
	relay.Store = s.store
	s.act(backends)
	return nil
}

// relay lets the supervisor be made before the store that shows its sources.
type relay struct{ sources.Store }

// act makes the engine with the config's policy.
func (s *session) act(backends map[string]actions.Backend) {
	s.audit = audit.Open(s.config.Audit(os.Getenv))
	s.engine = actions.NewEngine(actions.EngineOptions{
		Backends: backends, Snapshot: s.store.Latest, Policy: s.policy(),
		Journal: actions.NewJournal(s.journalDir()), Auditor: s.audit, Refresh: s.keeper.Refresh,
	})
}

func (s *session) policy() actions.Policy {
	p := actions.Policy{
		ReadOnly: s.readOnly(), Clusters: map[string]actions.ClusterPolicy{}, TicketRequired: s.config.TicketRequired,
		Limits: actions.Limits{
			NodesPerWindow: s.config.Limits.NodesPerWindow, Window: time.Duration(s.config.Limits.Window), Percent: s.config.Limits.Percent,
		},
	}
	for _, c := range s.config.Clusters {
		cp := actions.ClusterPolicy{Guard: actions.Guard(c.Guard), Production: c.Production}
		if c.ReadOnly {
			cp.ReadOnly = "the config says so"
		}
		p.Clusters[c.Name] = cp
	}
	return p
}

// readOnly says why nothing may be done; empty when something may.
func (s *session) readOnly() string {
	switch {
	case s.app.readOnly:
		return "--read-only"
	case s.config.ReadOnly:
		return "the config says so"
	}
	return ""
}

func (s *session) journalDir() string {
	dir := s.config.State(os.Getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "journal")
}

// jobDetail reads a job in full.
func (s *session) jobDetail(ctx context.Context, cluster, id string) ([]slurm.JobDetail, error) {
	client := s.clients[cluster]
	if client == nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster, slurm.ErrUnsupported)
	}
	t, _, err := client.Reader(ctx)
	if err != nil {
		return nil, err
	}
	return t.Job(ctx, id)
}

// close ends every connection and waits for what runs.
func (s *session) close() {
	if s.cancel != nil {
		s.cancel()
	}
	s.running.Wait()
	_ = s.pool.Close()
}

// operator is the person at the keyboard, for drain reasons.
func operator() string {
	who := audit.Whoami(os.Getenv)
	return cmp.Or(who.Sudo, who.User)
}
