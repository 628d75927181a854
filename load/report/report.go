// Package report is what comes out of a load run: its numbers as one value, thresholds on them, and the ways to show them (text,
// JSON, one self-contained HTML page).
package report

import (
	"encoding/json"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"iop/load/ledger"
	"iop/load/measure"
)

// Report is a whole run. What was not measured is nil, and null in JSON, never 0.
type Report struct {
	Scenario    string    `json:"scenario"`
	Description string    `json:"description"`
	StartedAt   time.Time `json:"started_at"`
	TrafficAtS  float64   `json:"traffic_at_s"` // when the traffic began, on the samples' clock
	DurationS   float64   `json:"duration_s"`   // of the traffic
	Interrupted bool      `json:"interrupted"`
	Processes   int       `json:"processes"` // that took part
	OK          bool      `json:"ok"`        // every threshold holds

	Edges     Edges     `json:"edges"`
	Status    Requests  `json:"status"`
	Summaries Requests  `json:"summaries"`
	Commands  Requests  `json:"commands"`
	Settled   Requests  `json:"settled"` // commands that went on after their first answer, until they were shown as ended
	Clients   Requests  `json:"clients"`
	Events    Requests  `json:"events"` // from the server's stamp to a live reader
	Readers   Requests  `json:"readers"`
	Gaps      uint64    `json:"gaps"` // that live readers were told of
	Reconnect Reconnect `json:"reconnect"`

	Totals     ledger.Totals    `json:"totals"`
	Server     Server           `json:"server"`
	Tool       Tool             `json:"tool"`
	Thresholds []Verdict        `json:"thresholds"`
	Samples    []measure.Sample `json:"samples"`
}

// Edges is how the fleet fared.
type Edges struct {
	Target      int               `json:"target"`
	Connected   int               `json:"connected"` // at the end of the traffic
	Reconnects  uint64            `json:"reconnects"`
	ConnectMS   *float64          `json:"connect_ms"`   // until all were connected for the first time
	ConnectRate *float64          `json:"connect_rate"` // a second
	Hellos      uint64            `json:"hellos"`
	Heartbeats  uint64            `json:"heartbeats"`
	Snapshots   uint64            `json:"snapshots"`
	Events      uint64            `json:"events"`
	Troubles    map[string]uint64 `json:"troubles"` // that this run didn't make itself, by kind
	Cut         int               `json:"cut"`      // links that the server hadn't closed some time after the goodbye
}

// Requests is how one kind of request fared. Times count from the moment a request was due.
type Requests struct {
	Sent        uint64            `json:"sent"`
	OK          uint64            `json:"ok"`
	Errors      uint64            `json:"errors"`
	Excused     uint64            `json:"excused"` // failed because of what this run did to the Edge or the server
	NotSent     uint64            `json:"not_sent"`
	P50         *float64          `json:"p50_ms"`
	P90         *float64          `json:"p90_ms"`
	P99         *float64          `json:"p99_ms"`
	P999        *float64          `json:"p999_ms"`
	Max         *float64          `json:"max_ms"`
	ErrorKinds  map[string]uint64 `json:"error_kinds"`
	ExcuseKinds map[string]uint64 `json:"excuse_kinds"`
	Histogram   []Bucket          `json:"histogram"`
}

// Bucket is how many requests took at most so long, and longer than the bucket before.
type Bucket struct {
	UpToMS float64 `json:"up_to_ms"`
	Count  int64   `json:"count"`
}

// Reconnect is how the fleet came back after links were lost on purpose.
type Reconnect struct {
	All    *float64 `json:"all_ms"` // the longest of Storms; nil if there was none, or one never ended
	Storms []Storm  `json:"storms"`
}

// Storm is one loss of links.
type Storm struct {
	Kind  string   `json:"kind"`
	AtS   float64  `json:"at_s"` // from the beginning of the traffic
	Edges int      `json:"edges"`
	Back  *float64 `json:"back_ms"` // from the last loss until all Edges were connected; nil: never in this run
}

// Server is what the server's process used, when it could be watched.
type Server struct {
	Pid           int      `json:"pid"`
	CPUPerStatus  *float64 `json:"cpu_us_per_status"` // all its CPU in the time of the traffic, by the status reads that went well
	CPUPercent    *float64 `json:"cpu_percent"`       // of one core
	BytesPerEdge  *float64 `json:"bytes_per_edge"`    // growth of its resident memory while the Edges connected, by Edge
	ResidentBytes *int64   `json:"resident_bytes"`    // at the end of the traffic
	Why           string   `json:"why,omitempty"`     // there is nothing
}

// Tool is what this side of the run used.
type Tool struct {
	ResidentBytes *int64   `json:"resident_bytes"` // once the Edges were connected
	BytesPerEdge  *float64 `json:"bytes_per_edge"` // growth while they connected, by Edge
}

// Of makes the report of one kind of request.
func Of(t measure.Tally) Requests {
	h := t.Times
	r := Requests{Sent: t.Sent, OK: t.OK, Errors: t.Errors, Excused: t.Excused, NotSent: t.NotSent,
		ErrorKinds: t.Kinds, ExcuseKinds: t.Excuses, Histogram: buckets(h)}
	if h.TotalCount() > 0 {
		ms := func(us int64) *float64 { return new(float64(us) / 1000) }
		r.P50, r.P90, r.P99 = ms(h.ValueAtPercentile(50)), ms(h.ValueAtPercentile(90)), ms(h.ValueAtPercentile(99))
		r.P999, r.Max = ms(h.ValueAtPercentile(99.9)), ms(h.Max())
	}
	return r
}

// bucketGrowth is how much longer each bucket reaches than the one before.
const bucketGrowth = 1.2

// buckets sums a histogram up, from 0.1 ms.
func buckets(h *hdrhistogram.Histogram) []Bucket {
	all := []Bucket{}
	if h.TotalCount() == 0 {
		return all
	}
	upTo := 0.1
	var count int64
	for _, bar := range h.Distribution() {
		for ms := float64(bar.To) / 1000; ms > upTo; upTo *= bucketGrowth {
			if count > 0 || len(all) > 0 {
				all = append(all, Bucket{upTo, count})
			}
			count = 0
		}
		count += bar.Count
	}
	all = append(all, Bucket{upTo, count})
	for len(all) > 1 && all[len(all)-1].Count == 0 {
		all = all[:len(all)-1]
	}
	return all
}

// JSON writes it whole.
func (r *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), err
}
