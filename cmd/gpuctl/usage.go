package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// strict makes every wrong use of the commands below cmd an error of one sentence:
// cobra takes an unknown word behind a group of commands for a wish for help.
func strict(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		strict(sub)
		switch {
		case sub.Name() == "help":
			sub.Run, sub.RunE = nil, help
		case sub.HasSubCommands() && !sub.Runnable():
			sub.Args, sub.RunE = cobra.ArbitraryArgs, group
		case sub.Args != nil:
			sub.Args = counted(sub.Args)
		}
	}
}

// counted says how a command is used when it gets too few arguments or too many.
func counted(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, told := errors.AsType[*exitError](err); err != nil && !told {
			return failf(exitUsage, "wrong number of arguments; it is used as: %s (more: %s --help)", cmd.UseLine(), cmd.CommandPath())
		}
		return err
	}
}

// group is a command that only has commands.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return failf(exitUsage, "no command %q in %s; there are %s", args[0], cmd.CommandPath(), commandNames(cmd))
}

// help shows the help of the command that the words name.
func help(cmd *cobra.Command, words []string) error {
	named, rest, err := cmd.Root().Find(words)
	if err != nil || len(rest) > 0 && named.HasSubCommands() {
		return failf(exitUsage, "no command %q; there are %s", strings.Join(words, " "), commandNames(cmd.Root()))
	}
	named.InitDefaultHelpFlag()
	return named.Help()
}

func commandNames(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}
