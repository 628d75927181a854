package httpapi

import (
	_ "embed"
	"net/http"
)

//go:embed openapi.yaml
var openapiYAML []byte

func (s *Server) openapi(c *call) *problem {
	c.answer(http.StatusOK, "application/yaml", openapiYAML)
	return nil
}
