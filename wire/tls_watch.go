package wire

import (
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is how long after a change the files are read: a certificate and its key are two files, and are seldom
// replaced at the same instant. It isn't drawn out by further changes: a directory can be busy with other things.
const settleTime = 250 * time.Millisecond

// Watch reloads the files whenever they change, until stop is called. report is told of each change that was read:
// nil, or why the old files stay in force. What is watched are directories, those of the names and those that
// symbolic links lead to, so that a rename or the swap of a link (as Kubernetes does it) is seen.
func (t *ServerTLS) Watch(report func(error)) (stop func(), err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.watcher = w
	t.followLocked()
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.watch(w, report)
	}()
	return func() {
		_ = w.Close()
		<-done
	}, nil
}

func (t *ServerTLS) watch(w *fsnotify.Watcher, report func(error)) {
	var settled <-chan time.Time
	for {
		open := true
		select {
		case _, open = <-w.Events:
		case _, open = <-w.Errors: // events were lost: look for oneself
		case <-settled:
			settled = nil
			if changed, err := t.reloadChanged(); changed {
				report(err)
			}
			continue
		}
		if !open {
			return
		}
		if settled == nil {
			settled = time.After(settleTime)
		}
	}
}

// followLocked watches the files' directories. One that can't be watched is left to Reload.
func (t *ServerTLS) followLocked() {
	if t.watcher == nil {
		return
	}
	for _, path := range []string{t.files.Cert, t.files.Key, t.files.EdgeCA} {
		if path == "" {
			continue
		}
		_ = t.watcher.Add(filepath.Dir(path))
		if target, err := filepath.EvalSymlinks(path); err == nil {
			_ = t.watcher.Add(filepath.Dir(target))
		}
	}
}
