package httpapi

import (
	"net/http"

	"iop/wire"
)

const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
	elsewhere  = "/" // the mux's pattern for every path that isn't a route's
)

// route is one path and its one method (a GET serves HEAD too).
type route struct {
	pattern string
	method  string
	serve   func(*call) *problem
}

// routes is all that is served; openapi.yaml has the same paths.
func (s *Server) routes() []route {
	get := func(pattern string, serve func(*call) *problem) route {
		return route{pattern: pattern, method: http.MethodGet, serve: serve}
	}
	return []route{
		get(healthPath, s.health),
		get(readyPath, s.ready),
		get("/version", s.version),
		get("/metrics", s.showMetrics),
		get("/openapi.yaml", s.openapi),
		get("/edges", s.listEdges),
		get("/edges/{id}", s.showEdge),
		get("/edges/{id}/status", s.edgeStatus),
		get("/edges/{id}/events", s.edgeEvents),
		get("/edges/{id}/operations", s.edgeOperations),
		get("/edges/{id}/operations/{operation_id}", s.showOperation),
		{pattern: "/edges/{id}/commands", method: http.MethodPost, serve: s.command},
		get("/fleet/status", s.fleetStatus),
		get("/fleet/summary", s.fleetSummary),
		get("/fleet/models", s.fleetModels),
		get("/fleet/events", s.fleetEvents),
		get("/fleet/operations", s.fleetOperations),
	}
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range s.routes() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, _ *http.Request) { w.(*call).serve(rt) })
	}
	mux.HandleFunc(elsewhere, func(w http.ResponseWriter, _ *http.Request) { w.(*call).fail(nothingHere()) })
	return mux
}

// route hands a request to its route. What the mux would clean up with a redirect is refused before it gets there.
func (s *Server) route(c *call) {
	if !isExact(c.r.URL.EscapedPath()) || c.r.RequestURI == "*" {
		c.fail(nothingHere())
		return
	}
	s.mux.ServeHTTP(c, c.r)
}

func nothingHere() *problem {
	return refuse(wire.NotFound, "nothing is served at this path; paths are matched exactly")
}

// serve makes the checks that need no more than the route, and then serves it.
func (c *call) serve(rt route) {
	if p := c.check(rt); p != nil {
		c.fail(p)
		return
	}
	if p := rt.serve(c); p != nil {
		c.fail(p)
	}
}

func (c *call) check(rt route) *problem {
	if !namesExactly(c.r.URL.EscapedPath(), rt.pattern) {
		return nothingHere()
	}
	if c.edgeID = c.r.PathValue("id"); c.edgeID != "" && !wire.ValidEdgeID(c.edgeID) {
		return invalid("edge_id", wire.EdgeIDRule)
	}
	if c.r.Method == rt.method || rt.method == http.MethodGet && c.r.Method == http.MethodHead {
		return nil
	}
	p := refuse(wire.MethodNotAllowed, "this path has another method")
	if p.allow = rt.method; rt.method == http.MethodGet {
		p.allow = "GET, HEAD"
	}
	return p
}
