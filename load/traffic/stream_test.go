package traffic

import (
	"net/http"
	"strings"
	"testing"
)

// BenchmarkEvents is a live reader's work for a thousand events: it has to keep up with thousands a second.
func BenchmarkEvents(b *testing.B) {
	var stream strings.Builder
	for n := range 1000 {
		stream.WriteString(said("a-1", "t-00001", n+1))
	}
	tr := newTraffic(b, http.NotFoundHandler())
	b.SetBytes(int64(stream.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r := &eventReader{t: tr, book: tr.opts.Ledger.Events()}
		r.stream(b.Context(), strings.NewReader(stream.String()))
	}
}
