// Package triage says what is wrong with a fleet, what it costs and what helps.
//
//	Evaluate           a snapshot's findings: rules as values, worst first
//	ExplainPending     why a job waits, in plain words, and what to do next
//	ExplainNodeReason  what a node's reason means, and who will undo what
//	ExplainXID         what a GPU's error means and asks for; SXID and recovery action alike
//
// Everything here is a pure function of its arguments: no clock, no I/O, no state
// kept between calls.
//
// It imports fleet only.
package triage
