package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"iop/internal/testkit"
	iopv1 "iop/proto/iop/v1"
	"iop/wire"
)

func TestMain(m *testing.M) {
	beFleet()
	os.Exit(testkit.Cleaning{M: m}.Run())
}

// TestHelloIsARealEdges: the simulated Edges say what an iop-edge says.
func TestHelloIsARealEdges(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs an Edge")
	}
	real, ours := realHello(t), hello(7)
	if !slices.Equal(real.Operations, ours.Operations) {
		t.Errorf("operations %q, an iop-edge lists %q", ours.Operations, real.Operations)
	}
	if real.ProtocolVersion != ours.ProtocolVersion || len(real.InstanceId) != len(ours.InstanceId) {
		t.Errorf("%v beside %v", ours, real)
	}
	a, b := reflect.ValueOf(real).Elem(), reflect.ValueOf(ours).Elem()
	for i := range a.NumField() {
		if f := a.Type().Field(i); f.IsExported() && f.Name != "Token" && a.Field(i).IsZero() != b.Field(i).IsZero() {
			t.Errorf("%s: %v, an iop-edge says %v", f.Name, b.Field(i), a.Field(i))
		}
	}
}

// realHello is what an iop-edge says that has a name and labels.
func realHello(t *testing.T) *iopv1.EdgeHelloRequest {
	t.Helper()
	program, err := testkit.Program("iop-edge")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	config := filepath.Join(t.TempDir(), "edge.yaml")
	text := "edge: {id: real, name: A site, labels: {region: kr}}\ncontrol_plane: {address: " + listener.Addr().String() + "}\nnodes: []\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := exec.Command(program, "--config", config)
	edge.Stderr = os.Stderr
	if err := edge.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = edge.Process.Kill(); _ = edge.Wait() }()
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(testkit.Patience))
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testkit.Patience))
	m, err := next(wire.NewFrameReader(conn, wire.MaxHelloBytes))
	if err != nil || m.GetEdgeHelloRequest() == nil {
		t.Fatal(m, err)
	}
	return m.GetEdgeHelloRequest()
}
