//go:build !unix

package main

import "syscall"

// raiseFileLimit: there is no such limit here.
func (c *command) raiseFileLimit(int) error { return nil }

// apart: there is nothing to keep a child from.
func apart() *syscall.SysProcAttr { return nil }
