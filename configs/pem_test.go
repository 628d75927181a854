package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"iop/internal/testkit"
)

// writePair writes a certificate and its key.
func writePair(t *testing.T, dir, name string) {
	t.Helper()
	cert, key := testkit.NewAuthority().Issue("localhost")
	for suffix, content := range map[string][]byte{".crt": cert, ".key": key} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLSFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writePair(t, dir, "a")
	writePair(t, dir, "b")
	tests := map[string]struct {
		tls  string
		want []string
	}{
		"pair":        {"cert_file: a.crt, key_file: a.key", nil},
		"pair and CA": {"cert_file: a.crt, key_file: a.key, edge_client_ca_file: b.crt", nil},
		"no key":      {"cert_file: a.crt", []string{"c.yaml:1: tls.cert_file: is set without tls.key_file; expected both or neither"}},
		"no certificate": {"key_file: a.key", []string{
			"c.yaml:1: tls.key_file: is set without tls.cert_file; expected both or neither"}},
		"CA without TLS": {"edge_client_ca_file: b.crt", []string{
			"c.yaml:1: tls.edge_client_ca_file: needs TLS; expected tls.cert_file and tls.key_file as well"}},
		"absent": {"cert_file: x.crt, key_file: x.key, edge_client_ca_file: x.ca", []string{
			"c.yaml:1: tls.cert_file: x.crt can't be read: no such file or directory; expected a PEM file",
			"c.yaml:1: tls.key_file: x.key can't be read: no such file or directory; expected a PEM file",
			"c.yaml:1: tls.edge_client_ca_file: x.ca can't be read: no such file or directory; expected a PEM file"}},
		"a directory": {"cert_file: ., key_file: a.key", []string{
			"c.yaml:1: tls.cert_file: . is not a regular file; expected a PEM file"}},
		"not a pair": {"cert_file: a.crt, key_file: b.key", []string{
			"c.yaml:1: tls.cert_file: a.crt and tls.key_file b.key don't make a pair (tls: private key does not match public key); expected a PEM certificate chain and its private key"}},
		"CA without certificate": {"cert_file: a.crt, key_file: a.key, edge_client_ca_file: a.key", []string{
			"c.yaml:1: tls.edge_client_ca_file: a.key has no certificate that can be read; expected PEM certificates"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := write(t, "c.yaml", "tls: {"+tt.tls+"}\n"+loopback)
			_, err := LoadControlPlane(Source{File: file})
			if diff := cmp.Diff(tt.want, problemsOf(err, file)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Certificates are a way for the Edge wire to ask, and nothing but that.
func TestClientCertificatesCloseTheEdgeWire(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writePair(t, dir, "a")
	_, err := LoadControlPlane(Source{File: write(t, "c.yaml", "tls: {cert_file: a.crt, key_file: a.key, edge_client_ca_file: a.crt}\n")})
	if err == nil || strings.Contains(err.Error(), "edge_wire_listen") || !strings.Contains(err.Error(), "server.wire_listen") {
		t.Errorf("error %v, want one about server.wire_listen alone", err)
	}
}

func TestTokensUnderTLSAreNoWarning(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writePair(t, dir, "a")
	c, err := LoadControlPlane(Source{File: write(t, "c.yaml", `
tls: {cert_file: a.crt, key_file: a.key}
auth:
  edges: [{edge_id: '*', token_sha256: `+hashA+`}]
  operators: [{name: a, role: viewer, token_sha256: `+hashA+"}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); w != nil {
		t.Errorf("warnings: %v", w)
	}
}
