// Package wholefile replaces a file as a whole: whoever reads it, also after a crash, finds the old content or the new one. One
// process at a time can take such a file for itself.
//
// github.com/google/renameio was tried for it: it brings the content to the disk and not the rename, keeps the rights that an old
// file has, and is without that on Windows, where an Edge may run.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Write puts data in the place of the file at path, with exactly the rights of perm. Where a link leads to the file, the link
// stays. When it fails, the old file stays, unless the disk fails between the two.
func Write(path string, data []byte, perm fs.FileMode) error {
	path, err := Target(path)
	if err != nil {
		return err
	}
	before, after := besideName(path)
	beside, err := os.CreateTemp(filepath.Dir(path), before+"*"+after) // 0600: nobody else reads it before it has its rights
	if err != nil {
		return err
	}
	_, err = beside.Write(data)
	if err = errors.Join(err, beside.Chmod(perm), beside.Sync(), beside.Close()); err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// besideName is how the name of a file that Write makes beside another begins and ends; a number is between.
func besideName(path string) (before, after string) { return "." + filepath.Base(path) + ".", ".tmp" }

// RemoveLeft removes what was left beside the file at path by processes that were killed while they wrote it. Only who alone
// writes the file, as by Lock, may call it.
func RemoveLeft(path string) error {
	path, err := Target(path)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	before, after := besideName(path)
	for _, e := range entries {
		number, begins := strings.CutPrefix(e.Name(), before)
		number, ends := strings.CutSuffix(number, after)
		if _, notANumber := strconv.ParseUint(number, 10, 64); begins && ends && notANumber == nil {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

// Target is where the links at path lead, and path itself where no file is yet.
func Target(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return real, err
}

// syncDir brings the rename itself to the disk, where that can be had.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if cannotSync(err) {
		return nil
	}
	return err
}

// cannotSync tells whether a directory isn't one to be synced: it may not be read, or its file system or the system has no
// such thing.
func cannotSync(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}
