package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"iop/client"
)

// A table that isn't whole says so.
func TestOpsLsSaysThatThereAreMore(t *testing.T) {
	for next, more := range map[string]bool{"null": false, `"o1"`: true} {
		s := &scripted{answers: map[string][]string{"/fleet/operations": {`{"operations":[{"operation_id":"op"}],"next_cursor":` + next + `}`}}}
		if _, _, talk := s.iop(t, "ops", "ls", "--limit", "1"); strings.Contains(talk, "There are more; --limit N shows them.") != more {
			t.Errorf("next_cursor %s: it says %q", next, talk)
		}
	}
}

// However many are asked for, that many are shown, newest first, and the Control Plane is never asked for more than it gives.
func TestOpsLsShowsAsManyAsAskedFor(t *testing.T) {
	const kept = 2500
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		from, _ := strconv.Atoi(r.FormValue("cursor"))
		asked = append(asked, r.FormValue("limit"))
		page := client.OperationPage{Operations: []*client.Operation{}}
		to := min(from+limit, kept)
		for i := from; i < to; i++ {
			page.Operations = append(page.Operations, &client.Operation{OperationID: strconv.Itoa(i)})
		}
		if to < kept {
			page.NextCursor = new(strconv.Itoa(to))
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		limit string
		asked []string
		shown int
		next  bool
	}{
		{"20", []string{"20"}, 20, true}, {"1000", []string{"1000"}, 1000, true}, {"1001", []string{"1000", "1"}, 1001, true},
		{"2500", []string{"1000", "1000", "500"}, kept, false}, {"9000", []string{"1000", "1000", "1000"}, kept, false},
	} {
		var out, talk strings.Builder
		asked = nil
		code := run([]string{"ops", "ls", "--limit", c.limit, "-o", "json", "--addr", server.URL}, surroundings{stdin: strings.NewReader(""),
			stdout: &out, stderr: &talk, env: func(string) string { return "" }, configDir: func() (string, error) { return t.TempDir(), nil }})
		var page client.OperationPage
		if err := json.Unmarshal([]byte(out.String()), &page); code != exitOK || err != nil {
			t.Fatalf("%s: exit code %d, %v: %s", c.limit, code, err, talk.String())
		}
		if !slices.Equal(asked, c.asked) || len(page.Operations) != c.shown || (page.NextCursor != nil) != c.next {
			t.Errorf("%s: asked for %v, shown are %d, and more is %v", c.limit, asked, len(page.Operations), page.NextCursor != nil)
		}
		for i, o := range page.Operations {
			if o.OperationID != strconv.Itoa(i) {
				t.Fatalf("%s: in place %d is %s", c.limit, i, o.OperationID)
			}
		}
	}
}
