package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"iop/client"
	"iop/cmd/internal/build"
)

func (a *app) helloCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hello",
		Short: "Say hello over the Client wire, and measure a round trip",
		Long: `Connects to the Client wire over WebSocket, says hello and pings once. The wire is --wire, else the context's, else
port 19080 on the host of the address.`,
		Args:    cobra.NoArgs,
		Example: `  iop hello`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := a.target()
			if err != nil {
				return err
			}
			if t.using = t.wire; a.flags.wire != "" {
				t.from = "from --wire"
			}
			if u, err := url.Parse(t.wire); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" {
				return usage(cmd, "the Client wire %q is not ws://host:port or wss://host:port", t.wire)
			}
			config, err := t.tls()
			if err != nil {
				return err
			}
			began := time.Now()
			w, err := client.DialWire(cmd.Context(), t.wire, client.WireOptions{Name: "iop", Version: build.Version(), Token: t.token, TLS: config})
			if err != nil {
				return err
			}
			defer w.Close()
			helloTook := time.Since(began)
			trip, err := w.Ping(cmd.Context())
			if err != nil {
				return err
			}
			return a.showHello(newHelloView(t.wire, helloTook, trip))
		},
	}
}

// helloView is what a hello and a ping found.
type helloView struct {
	Wire                string     `json:"wire"`
	ServerID            string     `json:"server_id"`
	ServerVersion       string     `json:"server_version"`
	ProtocolVersion     uint32     `json:"protocol_version"`
	HeartbeatIntervalMS int64      `json:"heartbeat_interval_ms"`
	MaxFrameBytes       uint32     `json:"max_frame_bytes"`
	ServerTime          *time.Time `json:"server_time"`
	ClockSkewMS         *int64     `json:"clock_skew_ms"` // the Control Plane's clock minus this machine's
	ConnectMS           float64    `json:"connect_ms"`    // until the hello's answer
	RoundTripMS         float64    `json:"round_trip_ms"` // of a ping
}

func newHelloView(wire string, connect time.Duration, trip client.RoundTrip) *helloView {
	s := trip.Server
	v := &helloView{Wire: wire, ServerID: s.ServerID, ServerVersion: s.Version, ProtocolVersion: s.ProtocolVersion,
		HeartbeatIntervalMS: s.HeartbeatInterval.Milliseconds(), MaxFrameBytes: s.MaxFrameBytes,
		ConnectMS: float64(connect.Microseconds()) / 1000, RoundTripMS: float64(trip.Took.Microseconds()) / 1000}
	if !trip.ServerTime.IsZero() {
		skew := time.Until(trip.ServerTime.Add(trip.Took / 2)).Milliseconds()
		v.ServerTime, v.ClockSkewMS = &trip.ServerTime, &skew
	}
	return v
}

func (a *app) showHello(v *helloView) error {
	return a.show(view{doc: v, table: func(p *page) {
		p.details([][2]string{
			{"wire", clean(v.Wire)},
			{"server", clean(v.ServerID)},
			{"version", clean(v.ServerVersion)},
			{"protocol", number(int(v.ProtocolVersion))},
			{"heartbeat", "every " + millis(&v.HeartbeatIntervalMS)},
			{"max frame", number(int(v.MaxFrameBytes)) + " bytes"},
			{"clock", skewText(v.ClockSkewMS)},
			{"connected in", fmt.Sprintf("%.1fms", v.ConnectMS)},
			{"round trip", fmt.Sprintf("%.1fms", v.RoundTripMS)},
		})
	}})
}
