package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// built has the programs that this test process has built.
var built struct {
	sync.Mutex
	dir string
}

// Program builds a command of this module, such as iop-control-plane, when it is first asked for, and gives its path. It is
// removed at the end of a test process that Cleaning runs.
func Program(name string) (path string, err error) {
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		if built.dir, err = os.MkdirTemp("", "iop-test-"); err != nil {
			return "", err
		}
	}
	path = filepath.Join(built.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if out, err := exec.Command("go", "build", "-o", path, "iop/cmd/"+name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s can't be built: %w\n%s", name, err, out)
	}
	return path, nil
}

// Cleaning runs a package's tests, a *testing.M, and removes what Program has built.
type Cleaning struct{ M interface{ Run() int } }

// Run gives the exit code.
func (c Cleaning) Run() int {
	defer clean()
	return c.M.Run()
}

func clean() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
		built.dir = ""
	}
}
