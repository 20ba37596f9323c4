// Package node is the source of what the agents of many nodes say: one source, one
// goroutine and one back-off for each node, so that none can hold up another.
//
//	hosts of the fleet ──▶ watch (one a node) ── client.Way ──▶ agent
//	                          │ report, loss with its reason      └─ none there: nvidia-smi, the poorer view
//	                          ▼
//	                        board ── at most 5 a second ──▶ fleet.Update{Hosts}
//
// The source is live while one agent answers. A node whose agent is lost keeps what
// was said of it: stale at once, down when it stays lost.
//
// It imports sources, fleet and agent/client.
package node
