package agent

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// peerUID asks the kernel whose process opened the socket.
func peerUID(c net.Conn) (int, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a unix socket")
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("who is it: %w", err)
	}
	var cred *syscall.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, inner); err != nil {
		return 0, fmt.Errorf("who is it: %w", err)
	}
	return int(cred.Uid), nil
}
