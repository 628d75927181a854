package configs

import (
	"os"
	"strings"
	"time"
)

// ControlPlaneFile is read when no file is named, if it exists.
const ControlPlaneFile = "configs/control-plane.yaml"

// ControlPlane is the daemon's configuration. Whatever LoadControlPlane gives is whole and keeps to the
// check tags; the rules that span several keys are in control_plane_check.go.
type ControlPlane struct {
	File string `yaml:"-"` // the file that was read; empty: none

	Server   Server   `yaml:"server"`
	TLS      TLS      `yaml:"tls"`
	Auth     Auth     `yaml:"auth"`
	Insecure bool     `yaml:"insecure"`
	Client   Client   `yaml:"client"`
	Edges    Edges    `yaml:"edges"`
	Events   Events   `yaml:"events"`
	Audit    Audit    `yaml:"audit"`
	Database Database `yaml:"database"`
	Redis    Redis    `yaml:"redis"`
	Log      Log      `yaml:"log"`
}

// Server is who the daemon is, where it listens (host:port; empty host: all interfaces; port 0: a
// free one) and how long it may take to stop.
type Server struct {
	ID              string        `yaml:"id" check:"optional,text"` // filled with the host's name
	HTTPListen      string        `yaml:"http_listen" check:"listen"`
	WireListen      string        `yaml:"wire_listen" check:"listen"`
	EdgeWireListen  string        `yaml:"edge_wire_listen" check:"listen"`
	DebugListen     string        `yaml:"debug_listen" check:"optional,listen,loopback"` // empty: off
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" check:"range=10ms..24h"`
}

// TLS names PEM files. Those that are named were there and could be parsed at the load.
type TLS struct {
	CertFile         string `yaml:"cert_file"` // empty: no TLS
	KeyFile          string `yaml:"key_file"`
	EdgeClientCAFile string `yaml:"edge_client_ca_file"` // empty: Edges need no certificate
}

// Enabled tells whether the listeners speak TLS.
func (t TLS) Enabled() bool { return t.CertFile != "" }

// Auth is who may do what; an empty list asks its side for no token.
type Auth struct {
	Edges     []EdgeToken `yaml:"edges"`
	Operators []Operator  `yaml:"operators"`
}

// EdgeToken lets an Edge in whose id is EdgeID, or begins with what stands before EdgeID's final *.
type EdgeToken struct {
	EdgeID      string `yaml:"edge_id" check:"required,id*"`
	TokenSHA256 string `yaml:"token_sha256" check:"required,sha256" secret:"true"` // 64 lower-case hex digits
}

// Operator is a person or program that uses HTTP or the Client wire. No two have one name or token.
type Operator struct {
	Name        string `yaml:"name" check:"required,text"`
	Role        string `yaml:"role" check:"required,oneof=viewer|operator"`
	TokenSHA256 string `yaml:"token_sha256" check:"required,sha256" secret:"true"` // 64 lower-case hex digits
}

// Client is the Client wire's part.
type Client struct {
	AllowedOrigins []string `yaml:"allowed_origins" check:"origin"` // as browsers send them, to be compared byte by byte
}

// Edges is the Edge wire's and the registry's part.
type Edges struct {
	MaxConnections         int           `yaml:"max_connections" check:"range=1..10000000"`
	HelloTimeout           time.Duration `yaml:"hello_timeout" check:"range=10ms..10m"`
	WriteTimeout           time.Duration `yaml:"write_timeout" check:"range=10ms..10m"`
	HeartbeatInterval      time.Duration `yaml:"heartbeat_interval" check:"range=10ms..5m"`
	MaxHeartbeatsPerSecond int           `yaml:"max_heartbeats_per_second" check:"range=1..1000000"`
	MaxFrameBytes          int           `yaml:"max_frame_bytes" check:"range=1024..67108864"`
	MaxInFlight            int           `yaml:"max_in_flight" check:"range=1..65536"`
	DuplicatePolicy        string        `yaml:"duplicate_policy" check:"oneof=replace|reject"`
	RetainDisconnected     time.Duration `yaml:"retain_disconnected" check:"range=0s..8760h"`       // 0: forgotten at once
	RetainDisconnectedMax  int           `yaml:"retain_disconnected_max" check:"range=0..10000000"` // 0: forgotten at once
}

// Events bounds the rings of events, in entries.
type Events struct {
	FleetBuffer int `yaml:"fleet_buffer" check:"range=1..16777216"`
	EdgeBuffer  int `yaml:"edge_buffer" check:"range=1..1048576"`
}

// Audit bounds the record of operations, in entries, and how long an idempotency key is kept.
type Audit struct {
	FleetBuffer       int           `yaml:"fleet_buffer" check:"range=1..16777216"`
	EdgeBuffer        int           `yaml:"edge_buffer" check:"range=1..1048576"`
	IdempotencyWindow time.Duration `yaml:"idempotency_window" check:"range=10ms..8760h"`
}

// Database is reserved: nothing uses it yet.
type Database struct {
	URL string `yaml:"url" check:"optional,url" secret:"true"`
}

// Redis is reserved: nothing uses it yet.
type Redis struct {
	URL       string `yaml:"url" check:"optional,url" secret:"true"`
	KeyPrefix string `yaml:"key_prefix" check:"optional,text"`
}

// Log says what is logged and how. Format auto is console on a terminal, else json.
type Log struct {
	Level  string `yaml:"level" check:"oneof=trace|debug|info|warn|error"`
	Format string `yaml:"format" check:"oneof=auto|console|json"`
}

// ControlPlaneOverrides are the keys that variables and flags can give.
var ControlPlaneOverrides = []Override{
	{Key: "server.http_listen", Env: "IOP_HTTP_LISTEN", Flag: "http-listen", Usage: "where HTTP listens, `host:port`"},
	{Key: "server.wire_listen", Env: "IOP_WIRE_LISTEN", Flag: "wire-listen", Usage: "where the Client wire listens, `host:port`"},
	{Key: "server.edge_wire_listen", Env: "IOP_EDGE_WIRE_LISTEN", Flag: "edge-wire-listen", Usage: "where the Edge wire listens, `host:port`"},
	{Key: "server.debug_listen", Env: "IOP_DEBUG_LISTEN", Flag: "debug-listen", Usage: "where pprof listens, `host:port` on loopback"},
	{Key: "insecure", Env: "IOP_INSECURE", Flag: "insecure", Usage: "let listeners be open to the network without auth", Bool: true},
	{Key: "log.level", Env: "IOP_LOG_LEVEL", Flag: "log-level", Usage: "log from this `level` on: trace, debug, info, warn or error"},
	{Key: "log.format", Flag: "log-format", Usage: "log in this `format`: auto, console or json"},
	{Key: "database.url", Env: "IOP_DATABASE_URL"},
	{Key: "redis.url", Env: "IOP_REDIS_URL"},
	{Key: "redis.key_prefix", Env: "IOP_REDIS_KEY_PREFIX"},
}

// controlPlaneDefaults has the built-in defaults; dev has all listeners on loopback and a console log.
func controlPlaneDefaults(dev bool) *ControlPlane {
	c := &ControlPlane{
		Server: Server{
			HTTPListen:      "127.0.0.1:18080",
			WireListen:      "0.0.0.0:19080",
			EdgeWireListen:  "0.0.0.0:19081",
			ShutdownTimeout: 15 * time.Second,
		},
		Edges: Edges{
			MaxConnections:         200_000,
			HelloTimeout:           10 * time.Second,
			WriteTimeout:           10 * time.Second,
			HeartbeatInterval:      15 * time.Second,
			MaxHeartbeatsPerSecond: 4000,
			MaxFrameBytes:          1 << 20,
			MaxInFlight:            64,
			DuplicatePolicy:        "replace",
			RetainDisconnected:     24 * time.Hour,
			RetainDisconnectedMax:  10_000,
		},
		Events: Events{FleetBuffer: 262_144, EdgeBuffer: 128},
		Audit:  Audit{FleetBuffer: 65_536, EdgeBuffer: 256, IdempotencyWindow: 24 * time.Hour},
		Log:    Log{Level: "info", Format: "auto"},
	}
	if dev {
		c.Server.WireListen = "127.0.0.1:19080"
		c.Server.EdgeWireListen = "127.0.0.1:19081"
		c.Log.Format = "console"
	}
	return c
}

// LoadControlPlane merges and checks the layers of a source. It can be called again for a reload. Its error is
// Problems.
func LoadControlPlane(src Source) (*ControlPlane, error) {
	c := controlPlaneDefaults(src.Dev)
	file, r := load(src, ControlPlaneFile, ControlPlaneOverrides, c)
	c.File = file
	c.complete()
	c.check(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// complete fills in what has no constant default, and writes hashes in one way.
func (c *ControlPlane) complete() {
	if c.Server.ID == "" {
		name, err := os.Hostname()
		if err != nil || shortText(name) != "" {
			name = "iop-control-plane"
		}
		c.Server.ID = name
	}
	for i := range c.Auth.Edges {
		c.Auth.Edges[i].TokenSHA256 = strings.ToLower(c.Auth.Edges[i].TokenSHA256)
	}
	for i := range c.Auth.Operators {
		c.Auth.Operators[i].TokenSHA256 = strings.ToLower(c.Auth.Operators[i].TokenSHA256)
	}
}

// Print is the whole configuration as YAML, in the order of its documentation, with secrets as ***.
func (c *ControlPlane) Print() ([]byte, error) {
	return encode(c, func(string) string { return masked })
}
