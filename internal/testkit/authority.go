package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority signs certificates that nobody else trusts. Its methods panic where there is no randomness, and never else.
type Authority struct {
	PEM []byte // its own certificate

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes one that differs from all others.
func NewAuthority() *Authority {
	a := &Authority{key: newKey()}
	serial := newSerial()
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: fmt.Sprint("authority ", serial)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der := sign(template, template, a.key, a.key)
	a.cert = must(x509.ParseCertificate(der))
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// Pool trusts it, and nobody else.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue gives a certificate, for servers and for clients, and its private key, as PEM. Names are host names, ids of Edges or
// IP addresses.
func (a *Authority) Issue(names ...string) (certPEM, keyPEM []byte) {
	template := &x509.Certificate{SerialNumber: newSerial(), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key := newKey()
	der := sign(template, a.cert, key, a.key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})
}

// Pair is Issue for a tls.Config.
func (a *Authority) Pair(names ...string) tls.Certificate {
	return must(tls.X509KeyPair(a.Issue(names...)))
}

// Client is the configuration of a client that trusts it and has a certificate for these names; without names it has none.
func (a *Authority) Client(names ...string) *tls.Config {
	config := &tls.Config{RootCAs: a.Pool()}
	if len(names) > 0 {
		config.Certificates = []tls.Certificate{a.Pair(names...)}
	}
	return config
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
	template.NotBefore, template.NotAfter = time.Unix(0, 0), time.Now().AddDate(1, 0, 0) // tests in a bubble live in the year 2000
	return must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey))
}

func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func newSerial() *big.Int { return must(rand.Int(rand.Reader, big.NewInt(1<<60))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
