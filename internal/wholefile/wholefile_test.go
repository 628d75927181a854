package wholefile

import (
	"io/fs"
	"os"
	"path/filepath"
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
