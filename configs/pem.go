package configs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
)

// checkKeyPair wants neither or both of a certificate and its private key, in files that can be parsed.
func checkKeyPair(r *report, certKey, certFile, keyKey, keyFile string) {
	switch {
	case certFile == "" && keyFile == "":
		return
	case keyFile == "":
		r.on(certKey, "is set without %s; expected both or neither", keyKey)
		return
	case certFile == "":
		r.on(keyKey, "is set without %s; expected both or neither", certKey)
		return
	}
	cert, key := readPEM(r, certKey, certFile), readPEM(r, keyKey, keyFile)
	if cert == nil || key == nil {
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		r.on(certKey, "%s and %s %s don't make a pair (%v); expected a PEM certificate chain and its private key",
			certFile, keyKey, keyFile, err)
	}
}

// checkCertificates wants a file with at least one PEM certificate, or no file.
func checkCertificates(r *report, key, file string) {
	if file == "" {
		return
	}
	data := readPEM(r, key, file)
	if data != nil && !x509.NewCertPool().AppendCertsFromPEM(data) {
		r.on(key, "%s has no certificate that can be read; expected PEM certificates", file)
	}
}

func readPEM(r *report, key, path string) []byte {
	data, err := readRegular(path)
	if err != nil {
		r.on(key, "%s %v; expected a PEM file", path, err)
		return nil
	}
	return data
}

// readRegular refuses what isn't a regular file: a pipe could be waited on for ever.
func readRegular(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	return readFile(path)
}
