package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"iop/cmd/internal/program"
)

func tokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Print a new random token and its SHA-256",
		Args:  program.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printToken(cmd.OutOrStdout(), cmd.ErrOrStderr(), newToken())
		},
	}
}

// newToken is 256 random bits. The prefix keeps it apart from its hash, and lets scanners of
// repositories and logs find one that leaked.
func newToken() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails: the program ends where there is no randomness
	return "iop_" + base64.RawURLEncoding.EncodeToString(bits[:])
}

// printToken writes the data to stdout, and to stderr what to do with it.
func printToken(stdout, stderr io.Writer, token string) error {
	hash := sha256.Sum256([]byte(token))
	text := hex.EncodeToString(hash[:])
	if _, err := fmt.Fprintf(stdout, "token: %s\ntoken_sha256: %s\n", token, text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stderr, `
The token goes to the Edge or the operator; it is not kept anywhere. The hash goes into the
control plane's file, as one of

auth:
  edges:
    - {edge_id: "seoul-*", token_sha256: "%[1]s"}
  operators:
    - {name: alice, role: operator, token_sha256: "%[1]s"}
`, text)
	return err
}
