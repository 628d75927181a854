package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"iop/cmd/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"iop-control-plane": main})
}

func TestScripts(t *testing.T) { scripttest.Run(t, "iop-control-plane") }
