package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	iopv1 "iop/proto/iop/v1"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Valid("한"), "한"},
		{Valid("a\xffb"), "a\uFFFDb"},
		{Clip("abc", 3), "abc"},
		{Clip("abcd", 3), "abc"},
		{Clip("ab한", 3), "ab\uFFFD"},
		{Name(iopv1.ErrorCode_ERROR_CODE_PERMISSION_DENIED, "ERROR_CODE_"), "permission_denied"},
		{Name(iopv1.ErrorCode(99), "ERROR_CODE_"), "99"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if diff := cmp.Diff(map[string]string{"\uFFFD": "v"}, ValidMap(map[string]string{"\xff": "v"})); diff != "" || ValidMap(map[string]string{}) != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
