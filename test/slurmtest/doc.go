// Package slurmtest brings up a real Slurm cluster on loopback, for tests and for
// trying gpuctl by hand: munged, MariaDB, slurmdbd, slurmctld, one slurmd per
// node with simulated GPUs, slurmrestd over TCP (tokens) and over a unix socket,
// and an sshd. It needs root on a Debian machine with the packages of Install;
// Available says in one line why it cannot run.
//
// Everything a cluster writes lies in one folder, every port is on loopback, and
// Stop ends only what the cluster started. Clusters do not disturb each other:
// several test packages may run at the same time.
//
// The users are alice and bob (they own jobs), gpuop (AdminLevel Operator) and
// gpuadm (AdminLevel Administrator).
//
// A test package shares one cluster between its tests:
//
//	var bed = slurmtest.Share(slurmtest.Options{})
//
//	func TestMain(m *testing.M) { os.Exit(bed.Main(m)) }
//
//	func TestX(t *testing.T) { c := bed.Cluster(t); ... }
package slurmtest
