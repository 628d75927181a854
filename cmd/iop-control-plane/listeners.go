package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"iop/cmd/internal/program"
	"iop/configs"
	"iop/internal/wholefile"
)

// listeners are all of the daemon's. None says that it listens before all do.
type listeners struct {
	http, wire, edge, debug net.Listener // debug is nil when it is off
}

func openListeners(cfg *configs.ControlPlane) (*listeners, error) {
	l := &listeners{}
	for _, want := range []struct {
		key, address string
		into         *net.Listener
	}{
		{"server.http_listen", cfg.Server.HTTPListen, &l.http},
		{"server.wire_listen", cfg.Server.WireListen, &l.wire},
		{"server.edge_wire_listen", cfg.Server.EdgeWireListen, &l.edge},
		{"server.debug_listen", cfg.Server.DebugListen, &l.debug},
	} {
		if want.address == "" {
			continue
		}
		listener, err := program.Listen(want.key, want.address)
		if err != nil {
			l.close()
			return nil, err
		}
		*want.into = listener
	}
	return l, nil
}

func (l *listeners) close() {
	for _, one := range []net.Listener{l.http, l.wire, l.edge, l.debug} {
		if one != nil {
			_ = one.Close()
		}
	}
}

func (l *listeners) httpOnLoopback() bool {
	a, ok := l.http.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

func (l *listeners) addresses() map[string]string {
	a := map[string]string{"http": l.http.Addr().String(), "wire": l.wire.Addr().String(), "edge_wire": l.edge.Addr().String()}
	if l.debug != nil {
		a["debug"] = l.debug.Addr().String()
	}
	return a
}

func (l *listeners) announce(log zerolog.Logger) {
	e := log.Info()
	for name, address := range l.addresses() {
		e = e.Str(name, address)
	}
	e.Msg("listening")
}

// writeAddresses writes the file whole or not at all: whoever waits for it must not read half of it. What isn't a file, as a pipe or
// /dev/stdout, is written to and not replaced.
func (l *listeners) writeAddresses(path string) error {
	if path == "" {
		return nil
	}
	content, err := json.Marshal(l.addresses())
	if err != nil {
		return err
	}
	content = append(content, '\n')
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = os.WriteFile(path, content, 0)
	} else {
		err = wholefile.Write(path, content, 0o644)
	}
	if err != nil {
		return fmt.Errorf("the addresses file: %w", err)
	}
	return nil
}
