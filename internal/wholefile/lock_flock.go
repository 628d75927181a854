//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package wholefile

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, syscall.ENOLCK): // as NFS without a lock service
		return errors.ErrUnsupported
	case err != nil:
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	return nil
}
