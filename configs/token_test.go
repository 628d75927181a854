package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// One rule holds for a token wherever it is read. No error shows the token.
func TestTokens(t *testing.T) {
	for name, c := range map[string]struct {
		text, want, wrong string
	}{
		"a token":               {"t\n", "t", ""},
		"white space around it": {"\n  t \r\n\n", "t", ""},
		"the longest":           {strings.Repeat("s", maxText) + "\n", strings.Repeat("s", maxText), ""},
		"too long":              {strings.Repeat("s3cret", maxText), "", "has a token that is 24576 bytes long; expected at most 4096"},
		"more than is read":     {"s3cret" + strings.Repeat(" ", maxFile), "", "is over 1048576 bytes long"},
		"empty":                 {"\n", "", "is empty"},
		"two lines":             {"s3cret\ns3cret\n", "", "has a token that has characters that can't be printed; expected one line of text"},
		"not UTF-8":             {"s3cret\xff", "", "has a token that is not UTF-8; expected text in UTF-8"},
	} {
		file := write(t, "token", c.text)
		fromFile, inFile := readToken("", file)
		fromContext, inContext := (&CLIContext{TokenFile: file}).ReadToken()
		fromReader, inReader := ReadToken(strings.NewReader(c.text))
		if fromFile != c.want || fromContext != c.want || fromReader != c.want {
			t.Errorf("%s: %q, %q, %q", name, fromFile, fromContext, fromReader)
		}
		contextWrong := ""
		if c.wrong != "" {
			contextWrong = "token_file " + file + " " + c.wrong + "; expected a file with one line, the token"
		}
		if said(inFile) != c.wrong || said(inReader) != c.wrong || said(inContext) != contextWrong {
			t.Errorf("%s:\n%v\n%v\n%v", name, inFile, inReader, inContext)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTokenWithoutFile(t *testing.T) {
	for _, want := range []string{"", "t"} {
		if got, err := readToken(want, ""); got != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := (&CLIContext{Token: want}).ReadToken(); got != want || err != nil {
			t.Errorf("of a context: %q, %v", got, err)
		}
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	if _, err := (&CLIContext{TokenFile: nowhere}).ReadToken(); err == nil || !strings.Contains(err.Error(), nowhere+" can't be read: ") {
		t.Errorf("a file that isn't there: %v", err)
	}
}

func TestTokenHash(t *testing.T) {
	want := sha256.Sum256([]byte("t"))
	for _, digits := range []string{hex.EncodeToString(want[:]), fmt.Sprintf("%X", want)} {
		if got := TokenHash(digits); got != want {
			t.Errorf("%s is %x", digits, got)
		}
	}
}
