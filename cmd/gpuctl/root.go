package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
)

// app is what all commands share: where to print, and the global flags.
type app struct {
	stdout, stderr io.Writer

	configFile, context      string
	readOnly, noColor, ascii bool
	logFile, logLevel        string
	patience                 time.Duration
	logger                   *slog.Logger
	agents                   agentNeed
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "gpuctl",
		Short: "The console of GPU fleets run by Slurm and Kubernetes",
		Long: "gpuctl shows nodes, jobs and GPUs of every cluster live on one screen, plans what an operator wants done, does it,\n" +
			"reads it back and keeps the record. Without a command it opens the console. Without a config it uses the local Slurm commands.\n\n" +
			"Exit codes: 0 done and verified, 1 error, 2 usage, 3 refused, 4 sent but not verified in time, 5 source down or stale.",
		Version:       versionText(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.console(cmd.Context()) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&a.configFile, "config", "", "config file (default: see gpuctl config path)")
	f.StringVar(&a.context, "context", "", "only this cluster of the config")
	f.BoolVar(&a.readOnly, "read-only", false, "refuse every action")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (also NO_COLOR)")
	f.BoolVar(&a.ascii, "ascii", false, "draw with ASCII only")
	f.StringVar(&a.logFile, "log-file", "", "write a log to this file")
	f.StringVar(&a.logLevel, "log-level", "info", "debug, info, warn or error")
	f.DurationVar(&a.patience, "patience", 15*time.Second, "how long one-shot commands wait for a first answer")
	_ = root.RegisterFlagCompletionFunc("log-level", fixed("debug", "info", "warn", "error"))
	root.AddCommand(newGet(a), newDescribe(a), newAudit(a), newDoctor(a), newConfig(a), newVersion(a))
	root.AddCommand(actionCommands(a)...)
	root.AddCommand(newMIG(a), newGPU(a), newAgent(a), newNVMLChild())
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}
