// Package client talks to node agents: one Client a node, over whatever carries bytes.
//
//	Way (ssh | socket | https) ── Dial ──▶ stream ──▶ Client.Run ──▶ State, latest wins
//	                                                     ▲
//	                                       Request ──────┘  Progress, one Reply
//
// An agent is not trusted: what it sends is bounded, is checked, and harms its own
// node only. A Client that hears nothing for two intervals, or something that it does
// not understand, cuts the connection; whoever runs it connects again.
//
// Everything is safe for concurrent use. The package imports agent/wire, fleet and remote.
package client
