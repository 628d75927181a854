package configs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
)

// LoadScenario is what a load run does. Whatever LoadScenarioOf gives is whole and keeps to the check tags.
type LoadScenario struct {
	Name string `yaml:"-"` // the file's, without folder and ending; "flags" without a file
	File string `yaml:"-"` // the file that was read; empty: none

	Description string        `yaml:"description" check:"optional,text"`
	Edges       LoadEdges     `yaml:"edges"`
	Traffic     LoadTraffic   `yaml:"traffic"`
	Disturb     []LoadDisturb `yaml:"disturb"`
	Thresholds  []string      `yaml:"thresholds" check:"text"`
}

// LoadEdges says how many simulated Edges there are and how they are.
type LoadEdges struct {
	Count        int           `yaml:"count" check:"range=1..1000000"`
	IDPrefix     string        `yaml:"id_prefix" check:"id"`
	ConnectRate  int           `yaml:"connect_rate" check:"range=0..1000000"` // a second; 0: as fast as it goes
	Nodes        int           `yaml:"nodes" check:"range=1..64"`
	Providers    int           `yaml:"providers" check:"range=0..16"`        // a node
	PushInterval time.Duration `yaml:"push_interval" check:"range=0s..24h"`  // 0: nothing changes
	Reconnect    time.Duration `yaml:"reconnect" check:"range=0s..1h"`       // the longest wait before the first try
	ReconnectMax time.Duration `yaml:"reconnect_max" check:"range=10ms..1h"` // after many
}

// LoadTraffic says how often what is asked, and how long.
type LoadTraffic struct {
	Duration       time.Duration `yaml:"duration" check:"range=1s..168h"`
	Ramp           time.Duration `yaml:"ramp" check:"range=0s..24h"` // the rates grow in this time
	AtOnce         bool          `yaml:"at_once"`                    // it doesn't wait until all Edges are connected
	StatusRate     int           `yaml:"status_rate" check:"range=0..100000"`
	SummaryRate    int           `yaml:"summary_rate" check:"range=0..10000"`
	CommandRate    int           `yaml:"command_rate" check:"range=0..100000"`
	ClientRate     int           `yaml:"client_rate" check:"range=0..10000"` // Clients that say hello and go
	PhasedPercent  int           `yaml:"phased_percent" check:"range=0..100"`
	PhaseDelay     time.Duration `yaml:"phase_delay" check:"range=1ms..5s"`
	Readers        int           `yaml:"readers" check:"range=0..1000"` // of the live stream
	SlowReaders    int           `yaml:"slow_readers" check:"range=0..1000"`
	Timeout        time.Duration `yaml:"timeout" check:"range=100ms..30s"`
	CommandTimeout time.Duration `yaml:"command_timeout" check:"range=100ms..30s"`
}

// LoadDisturb is something that goes wrong on purpose.
type LoadDisturb struct {
	Kind    string        `yaml:"kind" check:"required,oneof=drop|churn|half_open|late_answers|wrong_answers|slow_edges|clones|restart"`
	At      time.Duration `yaml:"at" check:"range=0s..168h"`  // from the beginning of the traffic
	For     time.Duration `yaml:"for" check:"range=0s..168h"` // how long it lasts
	Every   time.Duration `yaml:"every" check:"range=0s..168h"`
	Percent int           `yaml:"percent" check:"range=1..100"` // of the Edges
	Rate    int           `yaml:"rate" check:"range=1..100000"` // Edges a second, of churn
	Delay   time.Duration `yaml:"delay" check:"range=0s..1h"`
}

// LoadScenarioOverrides are the keys that flags can give.
var LoadScenarioOverrides = []Override{
	{Key: "edges.count", Flag: "edges", Usage: "how many simulated Edges"},
	{Key: "edges.id_prefix", Flag: "id-prefix", Usage: "what the Edges' ids begin with"},
	{Key: "edges.connect_rate", Flag: "connect-rate", Usage: "connections begun per second; 0: as fast as possible"},
	{Key: "traffic.status_rate", Flag: "status-rate", Usage: "status reads per second"},
	{Key: "traffic.command_rate", Flag: "command-rate", Usage: "commands per second"},
	{Key: "traffic.summary_rate", Flag: "summary-rate", Usage: "fleet summaries per second"},
	{Key: "traffic.client_rate", Flag: "client-rate", Usage: "Client hellos per second"},
	{Key: "traffic.readers", Flag: "readers", Usage: "readers of the live stream"},
	{Key: "traffic.duration", Flag: "duration", Usage: "how long the traffic lasts"},
	{Key: "traffic.ramp", Flag: "ramp", Usage: "how long the rates take to grow from 0"},
}

func loadScenarioDefaults() *LoadScenario {
	return &LoadScenario{
		Name: "flags",
		Edges: LoadEdges{Count: 1000, IDPrefix: "load-", Nodes: 2, Providers: 2, PushInterval: 30 * time.Second,
			Reconnect: 500 * time.Millisecond, ReconnectMax: 5 * time.Second},
		Traffic: LoadTraffic{Duration: 30 * time.Second, StatusRate: 100, SummaryRate: 1, CommandRate: 10, ClientRate: 1, Readers: 1,
			PhasedPercent: 50, PhaseDelay: 200 * time.Millisecond, Timeout: 2 * time.Second, CommandTimeout: 5 * time.Second},
	}
}

//go:embed load/*.yaml
var loadScenarios embed.FS

// LoadScenarioNames are the scenarios that are built in, in order.
func LoadScenarioNames() []string {
	files, err := fs.Glob(loadScenarios, "load/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return names
}

// LoadScenarioOf merges the built-in defaults, a scenario and the flags of a source. The scenario is a built-in one by its
// name, a file by its path (with a slash or .yaml), or none for "". Its error is Problems.
func LoadScenarioOf(scenario string, flags map[string]string) (*LoadScenario, error) {
	s := loadScenarioDefaults()
	r := newReport()
	v := reflect.ValueOf(s).Elem()
	if file, data := r.readScenario(scenario); file != "" {
		s.File, s.Name = file, strings.TrimSuffix(path.Base(file), ".yaml")
		r.decodeFile(file, data, v)
	}
	r.overrideAll(v, LoadScenarioOverrides, Source{Flags: flags})
	s.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *report) readScenario(scenario string) (file string, data []byte) {
	if scenario == "" {
		return "", nil
	}
	var err error
	if strings.ContainsRune(scenario, os.PathSeparator) || strings.HasSuffix(scenario, ".yaml") {
		file = scenario
		data, err = readFile(file)
	} else {
		file = "configs/load/" + scenario + ".yaml"
		data, err = loadScenarios.ReadFile("load/" + scenario + ".yaml")
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("is no scenario; expected one of %s, or the path of a YAML file", strings.Join(LoadScenarioNames(), ", "))
			file = scenario
		}
	}
	if err != nil {
		r.at(place{source: file}, "", "%v", err)
		return "", nil
	}
	return file, data
}

// What each kind of disturbance needs beside at.
var disturbNeeds = map[string][]string{
	"drop": {"percent"}, "churn": {"rate", "for"}, "half_open": {"percent", "for"}, "late_answers": {"percent", "for", "delay"},
	"wrong_answers": {"percent", "for"}, "slow_edges": {"percent", "for", "delay"}, "clones": {"percent", "for"},
}

func (s *LoadScenario) check(r *report) {
	if s.Edges.Reconnect > s.Edges.ReconnectMax {
		r.on("edges.reconnect", "%s is more than edges.reconnect_max; expected at most %s",
			formatDuration(s.Edges.Reconnect), formatDuration(s.Edges.ReconnectMax))
	}
	for i, d := range s.Disturb {
		key := fmt.Sprintf("disturb[%d]", i)
		given := map[string]bool{"percent": d.Percent > 0, "for": d.For > 0, "rate": d.Rate > 0, "delay": d.Delay > 0}
		missing := slices.DeleteFunc(slices.Clone(disturbNeeds[d.Kind]), func(need string) bool { return given[need] })
		if len(missing) > 0 && !r.problems.touch(key) {
			r.on(key, "is without %s, which %s needs", strings.Join(missing, " and "), d.Kind)
		}
		if d.Every > 0 && !slices.Contains([]string{"drop", "restart"}, d.Kind) {
			r.on(key+".every", "is for drop and restart; expected nothing here with %s", d.Kind)
		}
		if d.At > s.Traffic.Duration {
			r.on(key+".at", "%s is after the end of the traffic; expected at most %s", formatDuration(d.At), formatDuration(s.Traffic.Duration))
		}
	}
}
