// Package agents tests the console's side of node agents against a real sshd on
// loopback: agents over standard input and output, and hundreds of them over one
// connection.
package agents
