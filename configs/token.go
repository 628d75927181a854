package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// checkTokenFile wants at most one of a section's token and token_file. The variable wins over a file's token_file, as over
// its token.
func checkTokenFile(r *report, section, variable, token string, file *string) {
	if token != "" && r.places[section+".token"].source == variable {
		*file = ""
	}
	if *file == "" {
		return
	}
	if token != "" {
		r.on(section+".token_file", "is set beside %s.token; expected one of them", section)
	}
	if _, err := readToken(token, *file); err != nil {
		r.on(section+".token_file", "%s %v; expected a file with one line, the token", *file, err)
	}
}

// readToken gives the token, from its file where there is one, "" for none. Its error is a half sentence about the file.
func readToken(token, file string) (string, error) {
	if file == "" {
		return token, nil
	}
	data, err := readRegular(file)
	if err != nil {
		return "", err
	}
	return tokenOf(data)
}

// ReadToken gives the token that r has. Its error is a half sentence about r.
func ReadToken(r io.Reader) (string, error) {
	data, err := readAll(r)
	if err != nil {
		return "", err
	}
	return tokenOf(data)
}

// tokenOf is the rule for a token wherever it is read: one line of at most maxText bytes.
func tokenOf(data []byte) (string, error) {
	if len(data) > maxFile {
		return "", fmt.Errorf("is over %d bytes long", maxFile)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", errors.New("is empty")
	}
	if wrong := plainText(token, maxText); wrong != "" {
		return "", errors.New("has a token that " + wrong)
	}
	return token, nil
}

// TokenHash is the SHA-256 that the digits of a token_sha256 tell, which the configuration's check has seen to be one.
func TokenHash(digits string) (sum [sha256.Size]byte) {
	if n, err := hex.Decode(sum[:], []byte(digits)); err != nil || n != len(sum) {
		panic(fmt.Sprintf("a token hash of %d bytes passed the check", n))
	}
	return sum
}
