package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rs/zerolog"

	"iop/configs"
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
		listener, err := net.Listen("tcp", want.address)
		if err != nil {
			l.close()
			if errors.Is(err, syscall.EADDRINUSE) {
				return nil, fmt.Errorf("%s: the address %s is taken; stop what listens there, or choose another", want.key, want.address)
			}
			return nil, fmt.Errorf("%s: can't listen on %s: %w", want.key, want.address, err)
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

// writeAddresses writes the file whole or not at all: whoever waits for it must not read half of it.
func (l *listeners) writeAddresses(path string) error {
	if path == "" {
		return nil
	}
	content, err := json.Marshal(l.addresses())
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".addresses-*")
	if err != nil {
		return fmt.Errorf("the addresses file: %w", err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(content, '\n'))
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("the addresses file: %w", err)
	}
	return nil
}
