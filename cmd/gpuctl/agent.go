package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpuctl/gpuctl/internal/agent"
	"github.com/gpuctl/gpuctl/internal/agent/host"
	"github.com/gpuctl/gpuctl/internal/agent/metrics"
	"github.com/gpuctl/gpuctl/internal/agent/mig"
	"github.com/gpuctl/gpuctl/internal/agent/nvml"
	"github.com/gpuctl/gpuctl/internal/agent/pci"
)

// agentFlags are what gpuctl agent is told.
type agentFlags struct {
	once, stdio             bool
	output                  string
	socket, listen, metrics string
	https                   agent.HTTPSOptions
	interval                time.Duration
	service                 string

	kernelLog, stateDir, root, library string
}

const serviceSocket = "/run/gpuctl/agent.sock"

// lean is the collector's percentage: the machine's memory is the jobs', and there is
// little garbage.
const lean = 30

func newAgent(a *app) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Watch the GPUs of this machine, and change them on request",
		Long: "Reads the GPUs of this machine each second, watches the kernel log, and finds out who holds what.\n" +
			"--once prints one reading. --stdio speaks frames on standard input and output, for a console that came over SSH; when the\n" +
			"service runs on this machine it is that which answers. --socket, --listen and --metrics serve others, also together.\n" +
			"Exit code 3: there is no GPU driver here, or it is too old.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.agent(cmd.Context(), &f) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.once, "once", false, "print one reading and end")
	fl.StringVarP(&f.output, "output", "o", "table", "of --once: table, wide or json (one frame)")
	fl.BoolVar(&f.stdio, "stdio", false, "talk to one client on standard input and output")
	fl.StringVar(&f.socket, "socket", "", "listen on this unix socket, for root and the user that the agent runs as")
	fl.StringVar(&f.listen, "listen", "", "listen on this address for clients with a certificate (needs --cert, --key, --client-ca)")
	fl.StringVar(&f.metrics, "metrics", "", "serve Prometheus metrics on this address, for everybody who reaches it")
	fl.StringVar(&f.https.CertFile, "cert", "", "PEM file: the agent's certificate")
	fl.StringVar(&f.https.KeyFile, "key", "", "PEM file: its key")
	fl.StringVar(&f.https.ClientCA, "client-ca", "", "PEM file: who signs the certificates of clients")
	fl.StringSliceVar(&f.https.Writers, "writer", nil, "common name or organizational unit of a client certificate that may change things")
	fl.DurationVar(&f.interval, "interval", time.Second, "how often the GPUs are read")
	fl.StringVar(&f.service, "service", serviceSocket, "of --stdio: the socket of the service; empty: do not look for it")
	fl.StringVar(&f.kernelLog, "kernel-log", "/dev/kmsg", "where the kernel's messages are read")
	fl.StringVar(&f.stateDir, "state-dir", "", "folder of faults, requests and the audit log (default: /var/lib/gpuctl for root)")
	fl.StringVar(&f.root, "host-root", "/", "where the host's /proc, /sys and /etc are")
	fl.StringVar(&f.library, "library", "", "the driver's library (default: libnvidia-ml.so.1)")
	return cmd
}

// newNVMLChild is the process that makes the calls into the driver.
func newNVMLChild() *cobra.Command {
	return &cobra.Command{
		Use: nvml.ChildArg, Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			debug.SetGCPercent(lean)
			return fail(exitFailed, nvml.Serve(args[0], os.Stdin, os.Stdout))
		},
	}
}

func (f *agentFlags) check() error {
	serving := f.stdio || f.socket != "" || f.listen != "" || f.metrics != ""
	switch {
	case f.once == serving:
		return failf(exitUsage, "say either --once, or one or more of --stdio, --socket, --listen and --metrics")
	case f.interval < 100*time.Millisecond || f.interval > time.Minute:
		return failf(exitUsage, "--interval %s: it is 100ms to 1m", f.interval)
	case f.listen != "" && (f.https.CertFile == "" || f.https.KeyFile == "" || f.https.ClientCA == ""):
		return failf(exitUsage, "--listen needs --cert, --key and --client-ca: nobody gets in without a certificate")
	}
	return checkFormat(f.output, "table", "wide", "json")
}

func (a *app) agent(ctx context.Context, f *agentFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.stdio && f.service != "" {
		if c, err := new(net.Dialer).DialContext(ctx, "unix", f.service); err == nil {
			return bridge(ctx, c, os.Stdin, a.stdout)
		}
	}
	debug.SetGCPercent(lean)
	runtime.GOMAXPROCS(1) // one reading a second: waking further threads costs more than the work
	logger, err := a.agentLog(f)
	if err != nil {
		return err
	}
	driver, err := nvml.New(nvml.Options{Library: f.library})
	if err != nil {
		return fail(exitRefused, err)
	}
	defer driver.Close()
	o := agent.Options{
		Driver: driver, Version: versionNumber(), Interval: f.interval, Host: host.Host{Root: f.root},
		KernelLog: f.kernelLog, StateDir: f.state(), AsRoot: os.Geteuid() == 0, Log: logger,
	}
	sampler := agent.New(o)
	// It samples until changes that are under way have ended, which is after ctx.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = sampler.Run(life) // it ends with life
	}()
	if f.once {
		err = a.agentOnce(ctx, f, sampler)
	} else if err = usable(ctx, f, sampler); err == nil {
		engine := mig.NewEngine(mig.Options{Dir: o.StateDir, BootID: o.Host.BootID()})
		err = a.serve(ctx, f, sampler, agent.NewDesk(sampler, engine), logger)
	}
	stop()
	<-ended
	return err
}

// agentLog logs to standard error where nobody reads frames, and to --log-file else.
func (a *app) agentLog(f *agentFlags) (*slog.Logger, error) {
	if a.logFile != "" || f.once || f.stdio {
		return a.log()
	}
	return slog.New(slog.NewTextHandler(a.stderr, nil)), nil
}

// state is the folder that outlives the agent.
func (f *agentFlags) state() string {
	switch dir, err := os.UserHomeDir(); {
	case f.stateDir != "":
		return f.stateDir
	case os.Geteuid() == 0:
		return "/var/lib/gpuctl"
	case err == nil:
		return filepath.Join(dir, ".local", "state", "gpuctl", "agent")
	}
	return ""
}

// usable waits for the driver's first word. A driver that is missing although there are
// GPUs is a finding, which the agent's clients are told; where there are none it ends. So
// it does where the driver is too old: nvidia-smi tells as much.
func usable(ctx context.Context, f *agentFlags, s *agent.Sampler) error {
	if _, err := s.Next(ctx, nil); err != nil {
		return nil //nolint:nilerr // it was told to end
	}
	err := s.Err()
	switch {
	case errors.Is(err, agent.ErrOldDriver):
	case errors.Is(err, agent.ErrNoDriver):
		devices, _ := pci.Scan(f.root) // no PCI bus: no GPU
		if slices.ContainsFunc(devices, pci.Device.IsGPU) {
			return nil
		}
	default:
		return nil
	}
	return fail(exitRefused, fmt.Errorf("no GPU can be watched here: %w", err))
}

// serve runs everything that was asked for until ctx ends or one of it fails.
func (a *app) serve(ctx context.Context, f *agentFlags, s *agent.Sampler, desk *agent.Desk, logger *slog.Logger) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	server := agent.NewServer(s, desk)
	jobs := []func(context.Context) error{func(ctx context.Context) error {
		_ = desk.Recover(ctx) // it fails only when told to end
		<-ctx.Done()
		return nil
	}}
	listeners, err := f.listeners(ctx, server, s)
	if err != nil {
		return fail(exitFailed, err)
	}
	jobs = append(jobs, listeners...)
	if f.stdio {
		jobs = append(jobs, func(ctx context.Context) error {
			defer stop(nil) // the client is gone
			return server.Session(ctx, agent.Peer{Name: "stdio, uid " + strconv.Itoa(os.Getuid()) + sudoer(), Write: true}, newStdio(a.stdout))
		})
	}
	done := make(chan error, len(jobs))
	for _, job := range jobs {
		go func() { done <- job(ctx) }()
	}
	var first error
	for range jobs {
		if err := <-done; err != nil && ctx.Err() == nil {
			first = err
			stop(err)
		}
	}
	logger.Info("ending; changes under way are brought to their end")
	desk.Wait()
	return fail(exitFailed, first)
}

// listeners opens what others connect to, before anything is served.
func (f *agentFlags) listeners(ctx context.Context, server *agent.Server, s *agent.Sampler) ([]func(context.Context) error, error) {
	var jobs []func(context.Context) error
	if f.socket != "" {
		l, err := agent.ListenSocket(ctx, f.socket)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, func(ctx context.Context) error { return server.ServeSocket(ctx, l) })
	}
	if f.listen != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
		if err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
		jobs = append(jobs, func(ctx context.Context) error { return server.ServeHTTPS(ctx, l, f.https) })
	}
	if f.metrics != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.metrics)
		if err != nil {
			return nil, fmt.Errorf("--metrics: %w", err)
		}
		jobs = append(jobs, func(ctx context.Context) error { return agent.Serve(ctx, l, metrics.Handler(s.Latest), nil) })
	}
	return jobs, nil
}
