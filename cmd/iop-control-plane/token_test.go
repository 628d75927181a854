package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"iop/cmd/internal/program"
)

func TestTokenAndHashBelongTogether(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"token"}, &stdout, &stderr, nil); code != program.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	m := regexp.MustCompile(`^token: (iop_[A-Za-z0-9_-]{43})\ntoken_sha256: ([0-9a-f]{64})\n$`).FindStringSubmatch(stdout.String())
	if m == nil {
		t.Fatalf("stdout is %q", &stdout)
	}
	if hash := sha256.Sum256([]byte(m[1])); hex.EncodeToString(hash[:]) != m[2] {
		t.Errorf("%s isn't the SHA-256 of %s", m[2], m[1])
	}
	if strings.Contains(stderr.String(), m[1]) {
		t.Errorf("the explanation repeats the token: %s", &stderr)
	}
	if strings.Count(stderr.String(), m[2]) != 2 {
		t.Errorf("the explanation doesn't have two lines to paste: %s", &stderr)
	}
}

func TestTokensDiffer(t *testing.T) {
	if first, second := newToken(), newToken(); first == second {
		t.Error("the same token twice")
	}
}
