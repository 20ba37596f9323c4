// Package actions turns what an operator wants into a plan, and a plan into
// verified facts.
//
//	Request -> Engine.Plan (pure read: steps, impact, warnings, blockers, guard)
//	        -> confirm (none, yes, or a typed word)
//	        -> Engine.Run: journal, audit, do, read back, audit -> Events
//
// Everything in a Plan is data: it is shown, written to the journal and to the
// audit log, printed as JSON, and read again by a later gpuctl. One Backend for
// each kind of scheduler knows how to make and carry out steps.
//
// Delivery: telemetry may be dropped, results of actions may not. Run's events
// are never dropped; its channel is closed after the last one.
//
// It imports fleet only.
package actions
