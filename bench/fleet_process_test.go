package main

import (
	"context"
	"errors"
	"net"
	"testing"

	"iop/internal/testkit"
)

// TestFleetProcess: it ends with who started it, whatever its Edges wait for.
func TestFleetProcess(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and answers no hello
	if err != nil {
		t.Fatal(err)
	}
	run, end := context.WithTimeout(t.Context(), testkit.Patience)
	defer end()
	f, err := startFleet(run, FleetOrder{silent.Addr().String(), 3, shape{1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(run)
	connecting := make(chan error)
	go func() { connecting <- f.connect(short) }()
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if err := <-connecting; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	silent.Close()
	end()
	f.close()
	if err := f.connect(t.Context()); err == nil {
		t.Error("what has ended does what it is told")
	}
}

func TestFleetWithoutServer(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	f, err := startFleet(t.Context(), FleetOrder{gone.Addr().String(), 3, shape{1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.connect(t.Context()); err == nil {
		t.Error("there is nobody to connect to")
	}
}
