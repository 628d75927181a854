package edge

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"iop/edge/internal/text"
	"iop/wire"
)

// Options make an Edge. ID and Address are required.
type Options struct {
	// ID is the Edge's stable name: 1 to 128 letters, digits and . _ - : with a letter or digit first.
	ID string
	// Name, Version and Labels are for people; at most 256 bytes each, and 64 labels.
	Name    string
	Version string
	Labels  map[string]string

	// Address is the Edge wire of the Control Plane, host:port.
	Address string
	// Token returns the hello's token, "" for none; a nil Token means none. It is called before each hello, so that a token
	// can be changed while the Edge runs.
	Token func() (string, error)
	// TLS gives the configuration of a connection; nil: plain TCP. It is called before each dial, so that certificates
	// can be changed while the Edge runs. Without a ServerName the host of Address is verified.
	TLS func() (*tls.Config, error)
	// ReconnectInitial and ReconnectMax bound the wait between two attempts; 0: 1 s and 30 s.
	ReconnectInitial time.Duration
	ReconnectMax     time.Duration

	// Site is what the Edge reports; nil: nothing.
	Site Site
	// Operations are the commands that can be run beside edge.ping, by name. The Control Plane refuses others.
	Operations map[string]Operation
	// StateFile is a file of at most 512 KiB that keeps the outcomes of commands across restarts; empty: they are kept only
	// in memory. Each Edge needs its own file. While it can't be written, no command is run. A damaged one is kept under its name
	// with ".damaged" added, and counts as empty.
	StateFile string

	// Logger; nil: slog's default.
	Logger *slog.Logger
}

func (o *Options) setDefaults() {
	if o.ReconnectInitial == 0 {
		o.ReconnectInitial = time.Second
	}
	if o.ReconnectMax == 0 {
		o.ReconnectMax = max(30*time.Second, o.ReconnectInitial)
	}
	if o.Token == nil {
		o.Token = func() (string, error) { return "", nil }
	}
	if o.Site == nil {
		o.Site = noSite{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// check gives everything that is wrong at once.
func (o *Options) check() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf("edge: "+format, args...)) }
	if !wire.ValidEdgeID(o.ID) {
		bad("ID %q is off the rule: %s", o.ID, wire.EdgeIDRule)
	}
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		bad("Address %q is not host:port", o.Address)
	}
	if o.ReconnectInitial < 0 || o.ReconnectMax < o.ReconnectInitial {
		bad("ReconnectInitial %v and ReconnectMax %v are no bounds", o.ReconnectInitial, o.ReconnectMax)
	}
	for _, over := range wire.HelloOver(map[string]string{"Name": text.Valid(o.Name), "Version": text.Valid(o.Version)}, text.ValidMap(o.Labels)) {
		bad("%s", over)
	}
	if len(o.Operations) > wire.MaxOperations-builtinOperations {
		bad("%d operations are over %d", len(o.Operations), wire.MaxOperations-builtinOperations)
	}
	for name, op := range o.Operations {
		if name == "" || len(name) > wire.MaxOperationBytes || text.Valid(name) != name || op == nil {
			bad("operation %.40q needs a name of 1 to %d bytes and a function", name, wire.MaxOperationBytes)
		}
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(wrong...)
}
