package httpapi

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"

	"iop/wire"
)

// health answers while the process serves, whatever its Edges do.
func (s *Server) health(c *call) *problem {
	c.answer(http.StatusOK, jsonType, []byte(`{"status":"ok"}`))
	return nil
}

// ready tells whether requests should be sent here. Its 503 is an answer, not a problem.
func (s *Server) ready(c *call) *problem {
	ready, checks, warnings := s.opts.Ready()
	ready = ready && !s.isDraining()
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	b := append([]byte(`{"ready":`), strconv.FormatBool(ready)...)
	b = append(b, `,"checks":{`...)
	for i, name := range slices.Sorted(maps.Keys(checks)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
		b = append(b, ':')
		b = strconv.AppendBool(b, checks[name])
	}
	b = append(b, `},"warnings":`...)
	b = appendStrings(b, warnings)
	c.answer(status, jsonType, append(b, '}'))
	return nil
}

func (s *Server) version(c *call) *problem {
	c.render(func(b []byte) []byte {
		b = append(b, `{"version":`...)
		b = appendString(b, s.opts.Version)
		b = append(b, `,"commit":`...)
		b = appendStringOrNull(b, s.opts.Commit)
		b = append(b, `,"go_version":`...)
		b = appendString(b, runtime.Version())
		b = append(b, `,"protocol_versions":[`...)
		b = strconv.AppendInt(b, wire.ProtocolVersion, 10)
		return append(b, `]}`...)
	})
	return nil
}
