package measure

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
)

func TestMeter(t *testing.T) {
	m := NewMeter()
	for range 3 {
		m.Begin()
	}
	m.Skip()
	m.End(10*time.Millisecond, Outcome{})
	m.End(30*time.Millisecond, Outcome{Kind: "edge_timeout"})
	m.End(time.Hour, Outcome{Kind: "edge_timeout", Excused: true})
	want := Counts{Sent: 3, OK: 1, Errors: 1, Excused: 1, NotSent: 1,
		Kinds: map[string]uint64{"edge_timeout": 1}, Excuses: map[string]uint64{"edge_timeout": 1}}
	if diff := cmp.Diff(want, m.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	h := m.Histogram()
	if h.TotalCount() != 2 {
		t.Errorf("%d times, want 2: errors are timed, excused ones are not", h.TotalCount())
	}
	if got := h.Max(); got < 30_000 || got > 30_100 {
		t.Errorf("the longest is %d µs, want 30,000 to three digits", got)
	}
}

func TestAMeterTakesAnyTime(t *testing.T) {
	m := NewMeter()
	m.End(-time.Second, Outcome{})
	m.End(1000*time.Hour, Outcome{})
	if n := m.Histogram().TotalCount(); n != 2 {
		t.Errorf("%d times, want 2", n)
	}
}

func TestRater(t *testing.T) {
	m := NewMeter()
	r := NewRater(m)
	for range 10 {
		m.End(20*time.Millisecond, Outcome{})
	}
	rate, _ := r.Next(2 * time.Second)
	if rate.PerSecond != 5 || rate.P50 == nil || *rate.P50 < 19.9 || *rate.P50 > 20.1 {
		t.Errorf("the first interval: %+v", rate)
	}
	rate, _ = r.Next(time.Second)
	if rate.PerSecond != 0 || rate.P50 != nil {
		t.Errorf("an interval without a request: %+v, want no rate and no times", rate)
	}
}

func TestSamplesAreThinnedOut(t *testing.T) {
	var s Samples
	const n = 100_000
	for i := range n {
		s.Add(Sample{AtS: float64(i)})
	}
	all := s.All()
	if len(all) > maxSamples || len(all) < maxSamples/3 {
		t.Errorf("%d samples are kept of %d", len(all), n)
	}
	step := all[1].AtS - all[0].AtS
	for i := 1; i < len(all); i++ {
		if all[i].AtS-all[i-1].AtS != step {
			t.Fatalf("samples %d and %d are %v apart, others %v", i-1, i, all[i].AtS-all[i-1].AtS, step)
		}
	}
	if last := all[len(all)-1].AtS; last < n-2*step {
		t.Errorf("the last sample is of %v s", last)
	}
}

const sockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:46A0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0000000000000000 100 0 0 10 0
   1: 0100007F:A1B2 0100007F:46A0 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:46A1 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0000000000000000 20 4 30 10 -1
`

func TestListening(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "net"), 0o755), os.WriteFile(filepath.Join(dir, "net", "tcp6"), []byte(sockets), 0o600)); err != nil {
		t.Fatal(err)
	}
	proc, err := procfs.NewFS(dir) // without a net/tcp
	if err != nil {
		t.Fatal(err)
	}
	for port, want := range map[uint64]uint64{0x46A0: 111, 0x46A1: 0, 0x46: 0} {
		if got, ok := listening(proc, port); got != want || ok != (want != 0) {
			t.Errorf("port %#x: inode %d, %t; want %d", port, got, ok, want)
		}
	}
}

func TestListenerFindsThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("no /proc here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := Listener(l.Addr().String())
	if err != nil || p.Pid != os.Getpid() {
		t.Fatalf("process %d, %v; want %d", p.Pid, err, os.Getpid())
	}
	u, err := p.Usage()
	if err != nil || u.Resident < 1<<20 {
		t.Errorf("usage %+v, %v", u, err)
	}
	for _, elsewhere := range []string{"192.0.2.1:80", "example.com:80", "127.0.0.1:1", "no port"} {
		if p, err := Listener(elsewhere); err == nil {
			t.Errorf("%s: found process %d", elsewhere, p.Pid)
		}
	}
}
