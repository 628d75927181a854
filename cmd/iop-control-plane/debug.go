package main

import (
	"errors"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"time"
)

// debugHandler is Go's pprof, and a way to give unused memory back to the system at once: what a measurement of
// resident memory needs.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
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
