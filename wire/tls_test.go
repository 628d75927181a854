package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"iop/internal/testkit"
)

// pemFiles are a server's files in a directory of their own.
type pemFiles struct {
	TLSFiles
	dir string
}

func newPEMFiles(t *testing.T) *pemFiles {
	dir := t.TempDir()
	return &pemFiles{TLSFiles{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}, dir}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue overwrites certificate and key with new ones for this name.
func (f *pemFiles) issue(t *testing.T, a *testkit.Authority, name string) {
	t.Helper()
	cert, key := a.Issue(name)
	write(t, f.Cert, cert)
	write(t, f.Key, key)
}

func mustServerTLS(t *testing.T, files TLSFiles) *ServerTLS {
	t.Helper()
	s, err := NewServerTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shake makes a connection, and gives what the client saw of it and the names that the server saw.
func shake(server, client *tls.Config) (seen tls.ConnectionState, peerNames []string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return seen, nil, err
	}
	defer ln.Close()
	served := make(chan error, 1)
	go func() {
		raw, err := ln.Accept()
		if err != nil {
			served <- err
			return
		}
		c := tls.Server(raw, server)
		if err = c.Handshake(); err == nil {
			peerNames = PeerDNSNames(c)
			_, err = c.Write([]byte("x"))
		}
		c.Close()
		served <- err
	}()
	c, err := tls.Dial("tcp", ln.Addr().String(), client)
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 1)) // TLS 1.3: only here the client hears what the server thinks of it
		seen = c.ConnectionState()
		c.Close()
	}
	return seen, peerNames, errors.Join(err, <-served)
}

func TestServerTLSReload(t *testing.T) {
	a, files := testkit.NewAuthority(), newPEMFiles(t)
	files.issue(t, a, "old.test")
	s := mustServerTLS(t, files.TLSFiles)
	server := s.Config()
	wantName := func(name string) {
		t.Helper()
		if _, _, err := shake(server, &tls.Config{RootCAs: a.Pool(), ServerName: name}); err != nil {
			t.Errorf("%s isn't in force: %v", name, err)
		}
	}
	wantName("old.test")

	for name, spoil := range map[string]func(){
		"a pair that doesn't match": func() { cert, _ := a.Issue("bad.test"); write(t, files.Cert, cert) },
		"no PEM":                    func() { write(t, files.Key, []byte("nonsense")) },
		"no file":                   func() { os.Remove(files.Key) },
	} {
		spoil()
		err := s.Reload(files.TLSFiles)
		if err == nil || !strings.Contains(err.Error(), files.dir) {
			t.Errorf("%s: %v", name, err)
		}
		wantName("old.test")
	}
	if _, err := NewServerTLS(files.TLSFiles); err == nil {
		t.Error("it starts without a key")
	}

	moved := newPEMFiles(t)
	moved.issue(t, a, "new.test")
	if err := s.Reload(moved.TLSFiles); err != nil {
		t.Fatal(err)
	}
	wantName("new.test")
}

func TestServerTLSAsksEdgesForCertificates(t *testing.T) {
	ours, others, files := testkit.NewAuthority(), testkit.NewAuthority(), newPEMFiles(t)
	files.issue(t, ours, "server.test")
	files.EdgeCA = filepath.Join(files.dir, "ca.crt")
	write(t, files.EdgeCA, ours.PEM)
	s := mustServerTLS(t, files.TLSFiles)
	server := s.EdgeConfig()

	client := func(certs ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: ours.Pool(), ServerName: "server.test", Certificates: certs}
	}
	edge := client(ours.Pair("seoul-1"))
	edge.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	_, names, err := shake(server, edge)
	if err != nil || !slices.Equal(names, []string{"seoul-1"}) {
		t.Errorf("an Edge: %v, %v", names, err)
	}
	if seen, names, err := shake(server, edge); err != nil || !seen.DidResume || !slices.Equal(names, []string{"seoul-1"}) {
		t.Errorf("an Edge that comes back: resumed %v, %v, %v", seen.DidResume, names, err)
	}
	if _, _, err := shake(server, client()); err == nil {
		t.Error("an Edge without a certificate is let in")
	}
	if _, _, err := shake(server, client(others.Pair("seoul-1"))); err == nil {
		t.Error("an Edge that another authority vouches for is let in")
	}
	if _, names, err := shake(s.Config(), edge.Clone()); err != nil || names != nil {
		t.Errorf("HTTP asks for certificates, too: %v, %v", names, err)
	}

	write(t, files.EdgeCA, []byte("nobody"))
	if err := s.Reload(files.TLSFiles); err == nil || !strings.Contains(err.Error(), files.EdgeCA) {
		t.Errorf("an authority that is none: %v", err)
	}
	write(t, files.EdgeCA, others.PEM)
	if err := s.Reload(files.TLSFiles); err != nil {
		t.Fatal(err)
	}
	if _, _, err := shake(server, edge); err == nil {
		t.Error("an Edge comes back on the word of an authority that is gone")
	}
	files.EdgeCA = ""
	if err := s.Reload(files.TLSFiles); err != nil {
		t.Fatal(err)
	}
	if _, _, err := shake(server, client()); err != nil {
		t.Errorf("no authority is named, and yet: %v", err)
	}
}

func TestServerTLSWantsVersion12(t *testing.T) {
	a, files := testkit.NewAuthority(), newPEMFiles(t)
	files.issue(t, a, "server.test")
	s := mustServerTLS(t, files.TLSFiles)
	for _, server := range []*tls.Config{s.Config(), s.EdgeConfig()} {
		for version, good := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			_, _, err := shake(server, &tls.Config{RootCAs: a.Pool(), ServerName: "server.test", MinVersion: version, MaxVersion: version})
			if (err == nil) != good {
				t.Errorf("%s: %v", tls.VersionName(version), err)
			}
		}
	}
}

func TestPeerDNSNamesWithoutTLS(t *testing.T) {
	near, _ := loopback(t)
	if names := PeerDNSNames(near); names != nil {
		t.Errorf("got %v", names)
	}
	if names := PeerDNSNames(tls.Server(near, testTLS()[0])); names != nil {
		t.Errorf("before the handshake: %v", names)
	}
}

// watched is a ServerTLS that watches its files, and what it reported.
func watched(t *testing.T, files TLSFiles) (*ServerTLS, <-chan error) {
	t.Helper()
	s, reports := mustServerTLS(t, files), make(chan error, 16)
	t.Cleanup(s.Watch(func(err error) { reports <- err }))
	return s, reports
}

func (t *ServerTLS) nameInForce() string { return t.inForce.Load().cert.Leaf.DNSNames[0] }

// wantReload waits until this name is in force; a report on the way there may be of a pair half replaced.
func wantReload(t *testing.T, s *ServerTLS, reports <-chan error, name string) {
	t.Helper()
	enough := time.After(time.Minute)
	for {
		select {
		case err := <-reports:
			if err == nil && s.nameInForce() == name {
				return
			}
		case <-enough:
			t.Fatalf("%s is not in force, but %s", name, s.nameInForce())
		}
	}
}

func TestWatchSeesFilesThatAreWritten(t *testing.T) {
	synctest.Test(t, testWatchSeesFilesThatAreWritten)
}

func testWatchSeesFilesThatAreWritten(t *testing.T) {
	a, files := testkit.NewAuthority(), newPEMFiles(t)
	files.issue(t, a, "one.test")
	s, reports := watched(t, files.TLSFiles)

	files.issue(t, a, "two.test")
	wantReload(t, s, reports, "two.test")

	write(t, files.Key, []byte("nonsense"))
	if err := <-reports; err == nil || s.nameInForce() != "two.test" {
		t.Errorf("a bad key: %v, and %s is in force", err, s.nameInForce())
	}

	cert, key := a.Issue("three.test") // as by a program that replaces files whole
	for path, content := range map[string][]byte{files.Cert: cert, files.Key: key} {
		write(t, path+".new", content)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	wantReload(t, s, reports, "three.test")

	moved := newPEMFiles(t)
	if err := s.Reload(moved.TLSFiles); err == nil {
		t.Error("files that aren't there are taken")
	}
	files.issue(t, a, "three and a half.test")
	wantReload(t, s, reports, "three and a half.test")

	moved.issue(t, a, "four.test")
	if err := s.Reload(moved.TLSFiles); err != nil {
		t.Fatal(err)
	}
	moved.issue(t, a, "five.test")
	wantReload(t, s, reports, "five.test")
}

// TestWatchSeesLinksThatAreSwapped: Kubernetes has tls.crt -> ..data/tls.crt, and ..data -> a directory with a date, whose
// place another one takes in a single rename.
func TestWatchSeesLinksThatAreSwapped(t *testing.T) {
	synctest.Test(t, testWatchSeesLinksThatAreSwapped)
}

func testWatchSeesLinksThatAreSwapped(t *testing.T) {
	a, files := testkit.NewAuthority(), newPEMFiles(t)
	data := filepath.Join(files.dir, "..data")
	publish := func(version, name string) {
		dir := filepath.Join(files.dir, version)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cert, key := a.Issue(name)
		write(t, filepath.Join(dir, "tls.crt"), cert)
		write(t, filepath.Join(dir, "tls.key"), key)
		if err := errors.Join(os.Symlink(version, data+"_tmp"), os.Rename(data+"_tmp", data)); err != nil {
			t.Fatal(err)
		}
	}
	publish("..1", "one.test")
	if err := errors.Join(os.Symlink("..data/tls.crt", files.Cert), os.Symlink("..data/tls.key", files.Key)); err != nil {
		t.Fatal(err)
	}
	s, reports := watched(t, files.TLSFiles)
	for version, name := range []string{"two.test", "three.test"} {
		publish("..new"+string(rune('1'+version)), name)
		wantReload(t, s, reports, name)
	}
	if len(reports) > 0 {
		t.Errorf("then %v is reported of files that are as they were", <-reports)
	}
}

// TestWatchSeesWhatLinksLeadTo: a file elsewhere, written in place.
func TestWatchSeesWhatLinksLeadTo(t *testing.T) { synctest.Test(t, testWatchSeesWhatLinksLeadTo) }

func testWatchSeesWhatLinksLeadTo(t *testing.T) {
	a, real, linked := testkit.NewAuthority(), newPEMFiles(t), newPEMFiles(t)
	real.issue(t, a, "one.test")
	if err := errors.Join(os.Symlink(real.Cert, linked.Cert), os.Symlink(real.Key, linked.Key)); err != nil {
		t.Fatal(err)
	}
	s, reports := watched(t, linked.TLSFiles)
	real.issue(t, a, "two.test")
	wantReload(t, s, reports, "two.test")
}

// What links lead to may lie behind a link itself: a directory with the release's name, and a link to the present one.
func TestWatchSeesADirectoryThatIsSwapped(t *testing.T) {
	synctest.Test(t, testWatchSeesADirectoryThatIsSwapped)
}

func testWatchSeesADirectoryThatIsSwapped(t *testing.T) {
	a, one, two := testkit.NewAuthority(), newPEMFiles(t), newPEMFiles(t)
	one.issue(t, a, "one.test")
	two.issue(t, a, "two.test")
	current := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(one.dir, current); err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(current, filepath.Base(path)) }
	s, reports := watched(t, TLSFiles{Cert: at(one.Cert), Key: at(one.Key)})
	if err := errors.Join(os.Symlink(two.dir, current+".new"), os.Rename(current+".new", current)); err != nil {
		t.Fatal(err)
	}
	wantReload(t, s, reports, "two.test")
}

// A pair is not read between the one file's change and the other's.
func TestWatchWaitsForBothFiles(t *testing.T) { synctest.Test(t, testWatchWaitsForBothFiles) }

func testWatchWaitsForBothFiles(t *testing.T) {
	a, files := testkit.NewAuthority(), newPEMFiles(t)
	files.issue(t, a, "one.test")
	s, reports := watched(t, files.TLSFiles)
	cert, key := a.Issue("two.test")
	write(t, files.Cert, cert)
	time.Sleep(lookEvery + lookEvery/2)
	write(t, files.Key, key)
	if err := <-reports; err != nil || s.nameInForce() != "two.test" {
		t.Errorf("%v, and %s is in force", err, s.nameInForce())
	}
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	if err := <-reports; err == nil || s.nameInForce() != "two.test" {
		t.Errorf("a key that is gone: %v, and %s is in force", err, s.nameInForce())
	}
	time.Sleep(10 * lookEvery)
	if len(reports) > 0 {
		t.Error("that is told again")
	}
}
