//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package wholefile

import (
	"errors"
	"os"
)

func tryLock(*os.File) error { return errors.ErrUnsupported }
