package main

import (
	"strings"
	"testing"
	"time"

	"iop/client"
)

func TestSpans(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", time.Second: "1s", 59 * time.Second: "59s", time.Minute: "1m", 61 * time.Second: "1m1s",
		10*time.Minute + time.Second: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", 23 * time.Hour: "23h", day: "1d", 3*day + 5*time.Hour: "3d5h", 400 * day: "400d",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "now", -time.Second: "now", 999 * time.Millisecond: "now", time.Second: "1s ago", -2 * time.Second: "in 2s", 5 * time.Minute: "5m ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestWhen(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("KST", 9*3600))
	a := &app{now: func() time.Time { return at.Add(time.Minute) }, format: plainTable}
	if got := a.when(&at); got != "1m ago" {
		t.Errorf("relative: %s", got)
	}
	if got := a.when(nil); got != unknown {
		t.Errorf("unknown: %s", got)
	}
	a.flags.absolute = true
	if got := a.when(&at); got != "2026-01-01T18:04:05Z" {
		t.Errorf("absolute: %s", got)
	}
}

// What a stream shows first may be from another day, and says so.
func TestTimesInAStream(t *testing.T) {
	for name, c := range map[string]struct {
		ago      time.Duration
		absolute bool
		format   format
		want     string
	}{
		"today":              {3 * time.Hour, false, plainTable, "00:04:05"},
		"yesterday":          {4 * time.Hour, false, plainTable, "2026-01-01 23:04:05"},
		"a year ago":         {365 * 24 * time.Hour, false, plainTable, "2025-01-02 03:04:05"},
		"with --absolute":    {0, true, plainTable, "2026-01-02T03:04:05Z"},
		"in a wide table":    {0, false, wide, "2026-01-02T03:04:05Z"},
		"a clock that's off": {-24 * time.Hour, false, plainTable, "2026-01-03 03:04:05"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			a := testApp()
			a.stdout, a.format, a.flags.absolute = &out, c.format, c.absolute
			e := &client.Event{Kind: "edge_connected", At: testNow.Add(-c.ago)}
			if err := (&tail{app: a}).write(e); err != nil || !strings.HasPrefix(out.String(), c.want+"  edge_connected") {
				t.Errorf("events -f shows %s, %v", out.String(), err)
			}
			top := newTopModel(a)
			top.event(client.Update{Event: e})
			if got := top.picture().tail; !strings.HasPrefix(got[0], c.want+"  ") {
				t.Errorf("top shows %s", got)
			}
		})
	}
}

func TestParams(t *testing.T) {
	var p paramFlag
	for _, s := range []string{"a=1", "b:=1", "c=", "d==x", "e:=null", "f:=[1,\"x\"]", "g=a:=b"} {
		if err := p.Set(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	if p["a"] != "1" || p["b"] != 1.0 || p["c"] != "" || p["d"] != "=x" || p["e"] != nil || len(p["f"].([]any)) != 2 || p["g"] != "a:=b" {
		t.Errorf("got %v", p)
	}
	for _, s := range []string{"", "a", "=1", ":=1", "h:=x", "a=2", "e=2"} {
		if err := p.Set(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
}
