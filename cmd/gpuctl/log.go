package main

import (
	"fmt"
	"log/slog"
	"os"
)

// log is the logger that the flags ask for; without --log-file it drops everything,
// for a console has no room for log lines.
func (a *app) log() (*slog.Logger, error) {
	if a.logger != nil {
		return a.logger, nil
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return nil, failf(exitUsage, "--log-level %q: it is one of debug, info, warn, error", a.logLevel)
	}
	a.logger = slog.New(slog.DiscardHandler)
	if a.logFile == "" {
		return a.logger, nil
	}
	f, err := os.OpenFile(a.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--log-file: %w", err))
	}
	a.logger = slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level}))
	return a.logger, nil
}
