// Package tui is the console: the only tea.Model, the layout of its one screen,
// and the flow from a key to a verified action.
//
//	snapshot, key, tick, event -> Model.Update (names things, never blocks)
//	                           -> Model.View   (pure; `now` is part of the model)
//	effects are tea.Cmds: fetch a detail, make a plan, wait for the next event
//
// Delivery: of snapshots only the latest counts; every event of a running action
// arrives, one waiting command for each board.
//
// It and the packages below it import fleet, triage, actions and the Charm
// libraries; never a client, SSH or os/exec.
package tui

//go:generate go test . -run TestReadmePicture|TestKeysDocument -update
