// Package fleet holds the nouns of gpuctl: clusters, nodes, GPUs, jobs,
// findings, sources, and the immutable Snapshot that shows all of them at one
// moment. It also holds what is said about those nouns whatever the scheduler:
// the Store that joins what sources report, host lists, and the filter language.
//
// It imports the standard library only, and everything else may import it.
//
// Concurrency: a Snapshot and everything reachable from it is never changed
// after it was published; share it by pointer. Only the Store writes, from one
// goroutine.
package fleet
