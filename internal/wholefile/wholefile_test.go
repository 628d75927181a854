package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		content string
		perm    fs.FileMode
	}{{"first, and longer", 0o644}, {"second", 0o600}, {"", 0o640}} {
		if err := Write(path, []byte(c.content), c.perm); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != c.content {
			t.Errorf("%q, %v; want %q", got, err, c.content)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != c.perm {
			t.Errorf("%v, %v; want %v", info.Mode(), err, c.perm)
		}
		alone(t, path)
	}
}

// A file that is kept elsewhere, as by those who keep their settings in a repository, stays there.
func TestALinkStays(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "kept", "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("old"), 0o600), os.Symlink("kept/file", link)); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != "kept/file" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	alone(t, file)
	if err := errors.Join(os.Remove(file), os.Symlink("file", file)); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o600); err == nil {
		t.Error("a link that leads to itself was written")
	}
}

func TestWhatFailsLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	alone(t, path)
	if err := Write(filepath.Join(path, "nowhere", "file"), []byte("x"), 0o600); err == nil {
		t.Error("there is no such directory")
	}
}

// A kill may come between the write and the rename.
func TestRemoveLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	stays := []string{"file", ".file.tmp", ".file.a.tmp", ".file.2.7.tmp", ".other.7.tmp", ".file.7.tmp2"}
	for _, name := range append(stays, ".file.7.tmp", ".file.3141592653.tmp") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(path, link), RemoveLeft(link)); err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeft(filepath.Join(dir, "nowhere", "file")); err != nil {
		t.Errorf("where nothing is, something can't be removed: %v", err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(stays)
	if !slices.Equal(left, stays) {
		t.Errorf("left are %v, %v; want %v", left, err, stays)
	}
}

func TestOneHasTheLock(t *testing.T) {
	dir := t.TempDir()
	file, other, link := filepath.Join(dir, "file"), filepath.Join(dir, "other"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	lock := func(path string) io.Closer {
		held, err := Lock(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = held.Close() })
		return held
	}
	held := lock(file)
	if err := Write(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		if _, err := Lock(path); !errors.Is(err, ErrLocked) {
			t.Errorf("%s is locked twice: %v", path, err)
		}
	}
	lock(other) // which isn't there yet
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	lock(file)
	if _, err := Lock(filepath.Join(dir, "nowhere", "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where no file can be, one is locked: %v", err)
	}
}

// alone wants nothing beside a file.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestDirectoriesThatCannotBeSynced(t *testing.T) {
	for err, want := range map[error]bool{nil: false, syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EACCES: true, syscall.EIO: false, syscall.ENOSPC: false} {
		if got := cannotSync(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
