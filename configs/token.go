package configs

import (
	"errors"
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
	token = strings.TrimSpace(string(data))
	if token == "" {
		return "", errors.New("is empty")
	}
	if wrong := plainText(token, maxText); wrong != "" {
		return "", errors.New("has a token that " + wrong)
	}
	return token, nil
}
