package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"iop/cmd/internal/scripttest"
	"iop/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(testkit.Cleaning{M: m}, map[string]func(){"iop-edge": main})
}

func TestScripts(t *testing.T) { scripttest.Run(t, "iop-edge") }
