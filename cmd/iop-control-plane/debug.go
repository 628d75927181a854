package main

import (
	"errors"
	"net/http"
	"net/http/pprof"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// debugHandler is Go's pprof, and a way to give unused memory back to the system at once: what a measurement of
// resident memory needs.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.Handle("/debug/pprof/mutex", &contention{name: "mutex", note: func(rate int) { runtime.SetMutexProfileFraction(rate) }})
	mux.Handle("/debug/pprof/block", &contention{name: "block", note: runtime.SetBlockProfileRate})
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("POST /debug/freeosmemory", func(w http.ResponseWriter, _ *http.Request) {
		debug.FreeOSMemory()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// contention is a profile of what goroutines wait for. Go notes it only when told to, which costs something: it is noted while
// somebody asks with ?seconds=N, and never else.
type contention struct {
	name string
	note func(rate int) // 1: all; 0: nothing

	mu     sync.Mutex
	askers int
}

func (c *contention) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked(1)
	defer c.asked(-1)
	pprof.Handler(c.name).ServeHTTP(w, r)
}

func (c *contention) asked(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.askers += more
	c.note(min(c.askers, 1))
}

// startDebug serves pprof where it is on; the configuration's check has seen that it is on loopback.
func (d *daemon) startDebug() {
	if d.listeners.debug == nil {
		return
	}
	d.debug = &http.Server{Handler: debugHandler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := d.debug.Serve(d.listeners.debug); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error().Err(err).Msg("the debug listener failed")
		}
	}()
}
