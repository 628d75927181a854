//go:build unix

package daemon

import "syscall"

// apart keeps a terminal's Ctrl-C from a child: this process ends it in its own time.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
