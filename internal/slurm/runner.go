package slurm

import "context"

// Runner runs one command where the Slurm commands are: here, or on a login node.
// argv is passed as it is; no shell interprets it. A command that ran and failed is
// no error of Run: see Output.Exit.
type Runner interface {
	Run(ctx context.Context, argv []string) (Output, error)
	Via() string
}

// Output is what a command left.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}
