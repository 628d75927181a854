package wire

import (
	"crypto/tls"
	"sync"

	"iop/internal/testkit"
)

var testTLS = sync.OnceValue(func() (configs [2]*tls.Config) {
	a := testkit.NewAuthority()
	return [2]*tls.Config{
		{Certificates: []tls.Certificate{a.Pair("server.test")}},
		{RootCAs: a.Pool(), ServerName: "server.test"},
	}
})
