// Command baseline is what the Control Plane's cost is held against: a plain server of goroutines and a map that does
// the same job with the same codec. It answers hellos and heartbeats, keeps what they say and the newest snapshot, lists Edges, asks one or all
// for their status, passes commands on, and hands events to live readers. It has no actors, no audit, no history of events,
// no filters, and of all that is around a request (auth, request ids, metrics, problems) nothing.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"runtime/debug"
)

func main() {
	addresses := flag.String("addresses-file", "", "write the addresses as JSON to this `path`")
	flag.Parse()
	if err := run(*addresses); err != nil {
		log.Fatal("baseline: ", err)
	}
}

func run(addressesFile string) error {
	edges, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := newServer()
	go s.acceptEdges(edges)
	addresses, err := json.Marshal(map[string]string{"http": web.Addr().String(), "edge_wire": edges.Addr().String(), "debug": web.Addr().String()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(addressesFile, addresses, 0o644); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /edges/{id}/status", s.status)
	mux.HandleFunc("POST /edges/{id}/commands", s.command)
	mux.HandleFunc("GET /edges", s.list)
	mux.HandleFunc("GET /fleet/summary", s.summary)
	mux.HandleFunc("GET /fleet/status", s.gather)
	mux.HandleFunc("GET /fleet/events", s.live)
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "go_goroutines %d\n", runtime.NumGoroutine())
	})
	mux.HandleFunc("POST /debug/freeosmemory", func(http.ResponseWriter, *http.Request) { debug.FreeOSMemory() })
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	return http.Serve(web, mux)
}
