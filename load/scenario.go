// Package load runs a load test of a Control Plane: it connects a fleet of simulated Edges, asks and commands by schedule,
// disturbs what a scenario says, keeps the books of every answer, and gives a report.
package load

import (
	"time"
)

// Target is where the Control Plane is.
type Target struct {
	HTTP          string // http://host:port
	EdgeWire      string // host:port
	ClientWire    string // ws://host:port/client
	EdgeToken     string // empty: none
	OperatorToken string
	Pid           int // of its process, when it is on this machine; 0: found by its HTTP port
	// Restart stops and starts the Control Plane, returns when it is ready, and tells when the old one was gone. nil: this run
	// can't.
	Restart func() (gone time.Time, err error)
}

// Scenario is what a run does.
type Scenario struct {
	Name, Description string

	Edges    Edges
	Duration time.Duration // of the traffic
	Ramp     time.Duration // its rates grow in this time
	AtOnce   bool          // the traffic doesn't wait until all Edges are connected
	Traffic  Traffic
	Disturb  []Disturbance
}

// Edges says how many there are and how they are.
type Edges struct {
	Count        int
	IDPrefix     string
	ConnectRate  int // a second; 0: as fast as it goes
	Nodes        int
	Providers    int           // a node
	PushInterval time.Duration // 0: nothing changes
	Reconnect    time.Duration // the longest wait before the first try after a loss
	ReconnectMax time.Duration
}

// Traffic says how often what is asked.
type Traffic struct {
	StatusRate, SummaryRate, CommandRate, ClientRate int // a second
	PhasedPercent                                    int // of the commands
	PhaseDelay                                       time.Duration
	Readers, SlowReaders                             int // of the live stream
	Timeout, CommandTimeout                          time.Duration
}

// Disturbance is something that goes wrong on purpose.
type Disturbance struct {
	Kind    DisturbanceKind
	At      time.Duration // from the beginning of the traffic
	For     time.Duration // how long it lasts
	Every   time.Duration // it happens again and again while For lasts; 0: once
	Percent int           // of the Edges
	Rate    int           // Edges a second, of Churn
	Delay   time.Duration // of LateAnswers and SlowEdges, and how long those of Churn are away
}

// DisturbanceKind names one.
type DisturbanceKind string

// What can be done.
const (
	Drop         DisturbanceKind = "drop"          // links reset at once; the Edges come back
	Churn        DisturbanceKind = "churn"         // Edges go, half of them politely, and come back
	HalfOpen     DisturbanceKind = "half_open"     // Edges hang with their links open, and come back on new ones
	LateAnswers  DisturbanceKind = "late_answers"  // Edges answer after Delay
	WrongAnswers DisturbanceKind = "wrong_answers" // Edges answer nonsense
	SlowEdges    DisturbanceKind = "slow_edges"    // Edges wait before each read
	Clones       DisturbanceKind = "clones"        // Edges run twice with one id
	Restart      DisturbanceKind = "restart"       // the Control Plane is restarted
)
