// Package remote runs commands on other hosts and forwards sockets through them,
// over SSH and without the ssh program.
//
//	Pool ── Conn (one a host) ── link (one TCP connection, made on first use)
//	                                ├── Run, Start: at most 8 at once, the rest queue
//	                                ├── DialUnix, DialTCP: sockets behind the host
//	                                └── keep-alive
//
// Hosts are found as ssh(1) finds them: ~/.ssh/config, /etc/ssh/ssh_config, the
// agent, key files, certificates, known_hosts, ProxyJump. Three things differ on
// purpose. Host keys are always checked strictly, whatever StrictHostKeyChecking
// says. Nothing is ever run on this machine, so ProxyCommand is refused and a
// "Match exec" block does not apply. Passwords are never sent; questions of the
// server are put only to the Prompt callback, and only after the keys.
//
// A lost connection is made anew on next use, with the configuration, the keys and
// the address read again. A command that may have begun is never sent twice.
//
// Everything is safe for concurrent use. Close of a Conn or Pool returns when all
// goroutines have ended. The package imports x/crypto/ssh only.
package remote
