package wire

import (
	"sync"
	"time"
)

// lookEvery is how often Watch reads the files: three small ones, which takes some 50 µs.
const lookEvery = time.Second

// Watch reloads the files when they have changed, until stop is called, which doesn't wait for a look that is under way. report is told
// of each change: nil, or why the old files stay in force.
//
// It looks at what is in them. A file system's notifications (fsnotify) were tried: none comes where a link to a directory above is
// swapped, from a network's file system, or when the user has no watches left.
func (t *ServerTLS) Watch(report func(error)) (stop func()) {
	enough := make(chan struct{})
	go func() {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for {
			select {
			case <-enough:
				return
			case <-look.C:
				if changed, err := t.reloadChanged(); changed {
					report(err)
				}
			}
		}
	}()
	return sync.OnceFunc(func() { close(enough) })
}
