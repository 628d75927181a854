package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TLSFiles are the PEM files of a server.
type TLSFiles struct {
	Cert, Key string
	// EdgeCA has the authorities that sign the Edges' certificates; empty when Edges need none.
	EdgeCA string
}

// ServerTLS is what the listeners share of TLS, 1.2 at least. It is reloaded while they serve: connections that are
// there keep what they have, and the next handshake uses the new files.
type ServerTLS struct {
	inForce atomic.Pointer[tlsMaterial]

	mu    sync.Mutex // one load at a time
	files TLSFiles   // those in force
	tried tlsBytes   // what the last load of them read, whether or not it was good
	seen  tlsBytes   // what the last look found
}

// tlsMaterial is what a handshake uses.
type tlsMaterial struct {
	cert tls.Certificate
	edge *tls.Config
}

// NewServerTLS reads the files. Its errors name them; they are for the log, not for a wire.
func NewServerTLS(files TLSFiles) (*ServerTLS, error) {
	t := &ServerTLS{}
	if err := t.Reload(files); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the files, which may be others than before. When they are no good, those in force stay so, and are those that
// Watch looks at.
func (t *ServerTLS) Reload(files TLSFiles) error {
	b, err := readTLSFiles(files) // outside the lock: a file system may hang
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loadLocked(files, b, err)
}

// reloadChanged is Reload of the same files, if they hold anything new since the last time. What is new counts at the second look
// that finds it: a certificate and its key are two files, and are seldom replaced at the same instant.
func (t *ServerTLS) reloadChanged() (changed bool, err error) {
	t.mu.Lock()
	files := t.files
	t.mu.Unlock()
	b, err := readTLSFiles(files)
	t.mu.Lock()
	defer t.mu.Unlock()
	if files != t.files { // a Reload was faster
		return false, nil
	}
	settled := b == t.seen
	t.seen = b
	if b == t.tried || !settled {
		return false, nil
	}
	return true, t.loadLocked(files, b, err)
}

func (t *ServerTLS) loadLocked(files TLSFiles, b tlsBytes, err error) error {
	if files == t.files {
		t.tried = b
	}
	if err != nil {
		return err
	}
	m, err := newTLSMaterial(files, b)
	if err != nil {
		return err
	}
	t.files, t.tried = files, b
	t.inForce.Store(m)
	return nil
}

// CertificateExpiry is when the certificate in force ends.
func (t *ServerTLS) CertificateExpiry() time.Time { return t.inForce.Load().cert.Leaf.NotAfter }

// Config is for HTTP and the Client wire: HTTP/1.1, a certificate, nobody asked for theirs.
func (t *ServerTLS) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &t.inForce.Load().cert, nil
		},
	}
}

// EdgeConfig is for the Edge wire. With EdgeCA an Edge must show a certificate that one of these authorities signed.
func (t *ServerTLS) EdgeConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return t.inForce.Load().edge, nil
		},
	}
}

// PeerDNSNames are the names that the peer's certificate speaks for; nil without TLS, without a certificate, and
// before the handshake.
func PeerDNSNames(c net.Conn) []string {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	certs := t.ConnectionState().PeerCertificates
	if len(certs) == 0 {
		return nil
	}
	return certs[0].DNSNames
}

// TLSFailed tells whether reading from a connection ended in a handshake that failed. A peer that left before it said anything
// has failed nothing.
func TLSFailed(c net.Conn, err error) bool {
	t, ok := c.(*tls.Conn)
	return ok && err != nil && !errors.Is(err, io.EOF) && !t.ConnectionState().HandshakeComplete
}

// tlsBytes are the contents of TLSFiles.
type tlsBytes struct{ cert, key, edgeCA string }

func readTLSFiles(files TLSFiles) (b tlsBytes, err error) {
	for _, f := range []struct {
		path string
		into *string
	}{{files.Cert, &b.cert}, {files.Key, &b.key}, {files.EdgeCA, &b.edgeCA}} {
		if f.path == "" {
			continue
		}
		content, err := os.ReadFile(f.path)
		if err != nil {
			return b, err
		}
		*f.into = string(content)
	}
	return b, nil
}

func newTLSMaterial(files TLSFiles, b tlsBytes) (*tlsMaterial, error) {
	cert, err := tls.X509KeyPair([]byte(b.cert), []byte(b.key))
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", files.Cert, files.Key, err)
	}
	edge := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	if files.EdgeCA != "" {
		edge.ClientAuth = tls.RequireAndVerifyClientCert
		edge.ClientCAs = x509.NewCertPool()
		if !edge.ClientCAs.AppendCertsFromPEM([]byte(b.edgeCA)) {
			return nil, fmt.Errorf("%s: no certificate that can be read", files.EdgeCA)
		}
	}
	return &tlsMaterial{cert: cert, edge: edge}, nil
}
