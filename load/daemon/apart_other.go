//go:build !unix

package daemon

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
