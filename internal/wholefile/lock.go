package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ErrLocked is what Lock fails with while another has the lock.
var ErrLocked = errors.New("is used by another process")

// Lock takes the file at path for who closes the lock, or for this process until its end, however it ends. The lock is on a file
// beside it, since the file itself is replaced; that one stays. Where the system or the file system has no such locks, everyone
// gets one.
func Lock(path string) (io.Closer, error) {
	path, err := Target(path)
	if err != nil {
		return nil, err
	}
	beside, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(beside); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, beside.Close())
	}
	return beside, nil
}
