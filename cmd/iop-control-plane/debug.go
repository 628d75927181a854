package main

import (
	"errors"
	"net/http"
	"net/http/pprof"
	"runtime"
	"runtime/debug"
	"time"
)

// debugHandler is Go's pprof, and a way to give unused memory back to the system at once: what a measurement of
// resident memory needs.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/mutex", contention("mutex", func() (off func()) {
		before := runtime.SetMutexProfileFraction(1)
		return func() { runtime.SetMutexProfileFraction(before) }
	}))
	mux.HandleFunc("/debug/pprof/block", contention("block", func() (off func()) {
		runtime.SetBlockProfileRate(1)
		return func() { runtime.SetBlockProfileRate(0) }
	}))
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
func contention(name string, on func() (off func())) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer on()()
		pprof.Handler(name).ServeHTTP(w, r)
	}
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
