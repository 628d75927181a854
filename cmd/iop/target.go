package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"iop/client"
	"iop/cmd/internal/build"
	"iop/configs"
)

const (
	defaultAddress  = "http://127.0.0.1:18080"
	defaultWirePort = "19080"
)

// target is the Control Plane that is asked.
type target struct {
	address string
	wire    string
	token   string
	caFile  string
	from    string // who said so, for people
	using   string // the address or the wire, whichever is asked
}

// contextsFile is where contexts are kept.
func (a *app) contextsFile() (string, error) {
	dir, err := a.configDir()
	if err != nil {
		return "", fmt.Errorf("there is no directory for a configuration: %w", err)
	}
	return filepath.Join(dir, "iop", "config.yaml"), nil
}

func (a *app) loadContexts() (*configs.CLI, error) {
	file, err := a.contextsFile()
	if err != nil {
		return nil, err
	}
	return configs.LoadCLI(file)
}

// target finds which Control Plane is meant. A context's token never goes to an address that isn't the context's.
func (a *app) target() (*target, error) {
	if a.asked != nil {
		return a.asked, nil
	}
	t, err := a.chooseTarget()
	if err != nil {
		return nil, err
	}
	if token := a.env("IOP_TOKEN"); token != "" {
		t.token = token
	}
	for _, file := range []string{a.env("IOP_CA_FILE"), a.flags.caFile} {
		if file != "" {
			t.caFile = file
		}
	}
	if t.wire == "" {
		t.wire = wireOf(t.address)
	}
	t.using = t.address
	a.asked = t
	return t, nil
}

func (a *app) chooseTarget() (*target, error) {
	if a.flags.context != "" && (a.flags.address != "" || a.flags.wire != "") {
		return nil, &usageError{errors.New("--context names a server, and so do --addr and --wire; give one of them"), "iop"}
	}
	wire := withWireScheme(a.flags.wire)
	switch env := a.env("IOP_ADDR"); {
	case a.flags.address != "":
		return &target{address: withScheme(a.flags.address), wire: wire, from: "from --addr"}, nil
	case env != "" && a.flags.context == "":
		return &target{address: withScheme(env), wire: wire, from: "from IOP_ADDR"}, nil
	case wire != "":
		return &target{address: defaultAddress, wire: wire, from: "from --wire"}, nil
	}
	contexts, err := a.loadContexts()
	if err != nil {
		return nil, err
	}
	name := a.flags.context
	if name == "" {
		name = contexts.Current
	}
	if name == "" {
		return &target{address: defaultAddress, from: "the default"}, nil
	}
	x := contexts.Context(name)
	if x == nil {
		return nil, &usageError{fmt.Errorf("there is no context %q", name), "iop context"}
	}
	token, err := x.ReadToken()
	if err != nil {
		return nil, &usageError{fmt.Errorf("context %s: %w", name, err), "iop context"}
	}
	return &target{address: x.Address, wire: x.Wire, token: token, caFile: x.CAFile, from: "from the context " + name}, nil
}

// withScheme lets host:port stand for http://host:port.
func withScheme(address string) string {
	if !strings.Contains(address, "://") {
		return "http://" + address
	}
	return address
}

// withWireScheme lets host:port stand for ws://host:port.
func withWireScheme(wire string) string {
	if wire != "" && !strings.Contains(wire, "://") {
		return "ws://" + wire
	}
	return wire
}

// wireOf guesses the Client wire of an address: its default port on the same host.
func wireOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	scheme := "ws"
	if u.Scheme == "https" {
		scheme = "wss"
	}
	return scheme + "://" + net.JoinHostPort(u.Hostname(), defaultWirePort) + "/client"
}

func (t *target) tls() (*tls.Config, error) {
	if t.caFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(t.caFile)
	if err != nil {
		return nil, &usageError{fmt.Errorf("the file of authorities can't be read: %w", err), "iop"}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &usageError{fmt.Errorf("%s holds no certificate that can be read", t.caFile), "iop"}
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// repository connects to nothing yet.
func (a *app) repository() (*client.Repository, error) {
	t, err := a.target()
	if err != nil {
		return nil, err
	}
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	repo, err := client.New(t.address, client.Options{Token: t.token, TLS: config, UserAgent: "iop/" + build.Version()})
	if err != nil {
		return nil, &usageError{fmt.Errorf("%w (%s)", err, t.from), "iop"}
	}
	a.now = repo.Now
	return repo, nil
}
