package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"iop/load/ledger"
	"iop/load/measure"
	"iop/load/plot"
)

// example is a run with something of everything.
func example() *Report {
	resident := int64(100 << 20)
	m := measure.NewMeter()
	for i := range 200 {
		m.Begin()
		m.End(time.Duration(i+1)*time.Millisecond, measure.Outcome{})
	}
	status := Of(m.Tally())
	status.Sent, status.Errors = 1000, 2
	status.ErrorKinds = map[string]uint64{"edge_timeout": 1, "<b>odd</b>": 1}
	return &Report{
		Scenario: "reconnect-storm", Description: "Links & <things>", StartedAt: time.Unix(1_800_000_000, 0).UTC(), DurationS: 30, Processes: 1, TrafficAtS: 2,
		Edges:     Edges{Target: 1000, Connected: 998, Reconnects: 7, ConnectMS: new(200.0), ConnectRate: new(5000.0), Troubles: map[string]uint64{}},
		Status:    status,
		Reconnect: Reconnect{All: new(2500.0), Storms: []Storm{{Kind: "drop", AtS: 1, Edges: 1000, Back: new(2500.0)}}},
		Totals:    ledger.Totals{Lost: 1},
		Server:    Server{Pid: 7, CPUPerStatus: new(150.0), CPUPercent: new(40.0), BytesPerEdge: new(9000.0), ResidentBytes: &resident},
		Samples: []measure.Sample{
			{AtS: 1, Connected: 400, Target: 1000},
			{AtS: 2, Connected: 1000, Target: 1000, Status: measure.Rate{PerSecond: 500, P50: new(1.5), P99: new(20.0)}, Resident: &resident, CPU: new(40.0)},
			{AtS: 3, Connected: 998, Target: 1000, Status: measure.Rate{PerSecond: 480, P50: new(1.6), P99: new(25.0)}, Resident: &resident, CPU: new(42.0)},
		},
	}
}

func TestThresholds(t *testing.T) {
	for text, want := range map[string]Verdict{
		"status.p99<250ms":                {Value: "198.015ms", OK: true},
		"status.p99 < 50ms":               {Value: "198.015ms"},
		"status.p50<=0.1s":                {Value: "100.031ms"},
		"status.errors<3":                 {Value: "2", OK: true},
		"status.errors<0.1%":              {Value: "0.2%"},
		"errors<=0.2%":                    {Value: "0.2%", OK: true},
		"errors==0":                       {Value: "2"},
		"reconnect.all<10s":               {Value: "2.5s", OK: true},
		"edges.connected>=998":            {Value: "998", OK: true},
		"edges.missing==0":                {Value: "2"},
		"connect.rate>5000":               {Value: "5000/s"},
		"server.bytes_per_edge<10KiB":     {Value: "9000B", OK: true},
		"server.cpu_us_per_status<=150us": {Value: "150.0µs", OK: true},
		"commands.p99<50ms":               {Value: "not measured"},
		"commands.errors<1%":              {Value: "not measured"},
		"lost==0":                         {Value: "1"},
	} {
		threshold, err := ParseThreshold(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want.Threshold = strings.ReplaceAll(text, " ", "")
		if diff := cmp.Diff(want, threshold.Judge(example())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestBadThresholds(t *testing.T) {
	for text, says := range map[string]string{
		"":                       "no comparison",
		"status.p99":             "no comparison",
		"<50ms":                  "no comparison",
		"status.p98<50ms":        "unknown; expected one of",
		"status.p99<50":          "no value for status.p99; expected one such as 50ms",
		"status.p99<-50ms":       "no value",
		"status.p99<1%":          "no value",
		"errors<many":            "no value for errors; expected one such as 100",
		"errors<NaN":             "no value",
		"errors<-1%":             "no value",
		"edges.connected>=1%":    "no value",
		"status.p99=50ms":        "no comparison",
		"status.p99<>50ms":       "no value",
		"server.bytes_per_edge<": "no value",
	} {
		if _, err := ParseThreshold(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want it to say %q", text, err, says)
		}
	}
}

func FuzzParseThreshold(f *testing.F) {
	for _, seed := range []string{"status.p99<50ms", "errors<0.1%", "edges.connected>=10", "server.bytes_per_edge<6KiB", "a=b", "<", "=="} {
		f.Add(seed)
	}
	r := example()
	f.Fuzz(func(t *testing.T, text string) {
		threshold, err := ParseThreshold(text)
		if err == nil && threshold.Judge(r).Value == "" {
			t.Errorf("%q holds or not for no value", text)
		}
	})
}

func TestJudge(t *testing.T) {
	r := example()
	own, err := ParseThreshold("errors<1%")
	if err != nil {
		t.Fatal(err)
	}
	r.Judge([]Threshold{own})
	if r.OK || len(r.Thresholds) != len(always)+1 || r.Thresholds[0].OK || !r.Thresholds[len(always)].OK {
		t.Errorf("with a lost answer: ok %v, %+v", r.OK, r.Thresholds)
	}
	r.Totals = ledger.Totals{}
	r.Judge([]Threshold{own})
	if !r.OK {
		t.Errorf("without: %+v", r.Thresholds)
	}
}

// The names that programs read.
func TestJSON(t *testing.T) {
	r := example()
	r.Judge(nil)
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for part, names := range map[string]string{
		"edges":    "target connected reconnects",
		"status":   "sent ok errors p50_ms p99_ms max_ms",
		"commands": "sent ok errors p50_ms p99_ms max_ms",
		"totals":   "lost duplicated misrouted executed_twice out_of_order skipped",
		"server":   "cpu_us_per_status bytes_per_edge",
	} {
		object, _ := all[part].(map[string]any)
		for name := range strings.FieldsSeq(names) {
			if _, ok := object[name]; !ok {
				t.Errorf("%s has no %s", part, name)
			}
		}
	}
	if commands := all["commands"].(map[string]any); commands["p99_ms"] != nil {
		t.Errorf("commands that were never sent have a p99 of %v, want null", commands["p99_ms"])
	}
	if list, ok := all["thresholds"].([]any); !ok || len(list) != len(always) {
		t.Errorf("thresholds: %v", all["thresholds"])
	}
}

func TestText(t *testing.T) {
	r := example()
	r.Judge(nil)
	text := r.Text()
	for _, want := range []string{"reconnect-storm", "NOT every threshold holds", "998 of 1000 connected", "all back after 2.50 s", "edge_timeout 1×", "lost==0", "FAILS"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text doesn't have %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "commands") {
		t.Errorf("the text tells of commands, and none were sent:\n%s", text)
	}
}

func TestHTML(t *testing.T) {
	r := example()
	r.Judge(nil)
	b, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{"Links &amp; &lt;things&gt;", "prefers-color-scheme: dark", "<svg", "Edges connected", "Status reads by latency", "998 of 1000", "&lt;b&gt;odd&lt;/b&gt;", "drop of 1000 Edges"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page doesn't have %q", want)
		}
	}
	for _, never := range []string{"<script", "http://", "https://", "src=", "href=", "NaN", "Inf", "<b>odd"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
}

func TestHTMLOfARunThatMeasuredNothing(t *testing.T) {
	r := &Report{Scenario: "none"}
	r.Judge(nil)
	b, err := r.HTML()
	if err != nil || !strings.Contains(string(b), "nothing was measured") {
		t.Errorf("%v\n%s", err, b)
	}
	if !strings.Contains(r.Text(), "not watched") {
		t.Errorf("the text:\n%s", r.Text())
	}
}

func TestPathLeavesGaps(t *testing.T) {
	x, y := plot.Axis{High: 10, Length: 10}, plot.Axis{High: 10, Length: 10}
	got := path([]point{{0, 1}, {1, 1}, {2, math.NaN()}, {3, 1}}, x, y)
	if strings.Count(got, "M") != 2 || strings.Count(got, "L") != 1 {
		t.Errorf("path %q, want two strokes", got)
	}
}

func TestBuckets(t *testing.T) {
	h := hdrhistogram.New(1, int64(time.Minute/time.Microsecond), 3)
	for _, us := range []int64{50, 950, 1000, 5_000_000} {
		if err := h.RecordValue(us); err != nil {
			t.Fatal(err)
		}
	}
	all, count := buckets(h), int64(0)
	for i, b := range all {
		count += b.Count
		if i > 0 && b.UpToMS <= all[i-1].UpToMS {
			t.Errorf("bucket %d isn't longer than the one before", i)
		}
	}
	if count != 4 || all[0].Count == 0 || all[len(all)-1].Count == 0 || all[len(all)-1].UpToMS < 5000 {
		t.Errorf("%d times in %+v", count, all)
	}
}
