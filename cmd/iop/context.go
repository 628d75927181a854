package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"iop/configs"
	"iop/wire"
)

func (a *app) contextCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "context",
		Short:   "Named servers, and which of them is in use",
		Long:    "Named servers, and which of them is in use. They are kept in iop/config.yaml below your configuration directory, readable only for you.",
		Example: "  iop context set lab --addr http://127.0.0.1:18080\n  iop context use lab\n  iop context ls",
	}
	c.AddCommand(a.contextLs(), a.contextUse(), a.contextSet(), a.contextRm())
	return c
}

// contextView is a context as it is shown: never its token.
type contextView struct {
	Name    string  `json:"name"`
	Current bool    `json:"current"`
	Address string  `json:"address"`
	Wire    string  `json:"wire"`
	Token   bool    `json:"token"` // whether there is one
	CAFile  *string `json:"ca_file"`
}

func (a *app) contextLs() *cobra.Command {
	return &cobra.Command{
		Use:        "ls",
		SuggestFor: []string{"list"},
		Short:      "List the named servers",
		Args:       cobra.NoArgs,
		Example:    "  iop context ls",
		RunE: func(*cobra.Command, []string) error {
			contexts, err := a.loadContexts()
			if err != nil {
				return err
			}
			a.warnIfOpen(contexts.File)
			views := []contextView{}
			for _, x := range contexts.Contexts {
				v := contextView{Name: x.Name, Current: x.Name == contexts.Current, Address: x.Address, Wire: x.Wire, Token: x.Token != "" || x.TokenFile != ""}
				if v.Wire == "" {
					v.Wire = wireOf(x.Address)
				}
				if x.CAFile != "" {
					v.CAFile = &x.CAFile
				}
				views = append(views, v)
			}
			doc := map[string]any{"contexts": views}
			return a.show(view{doc: doc, lines: anys(views), table: func(p *page) { contextsPage(p, views) }})
		},
	}
}

func contextsPage(p *page, views []contextView) {
	if len(views) == 0 {
		p.say("No contexts. Make one: iop context set NAME --addr http://host:port")
	}
	rows := make([][]string, len(views))
	for i, v := range views {
		current, token := "", "no"
		if v.Current {
			current = "*"
		}
		if v.Token {
			token = "yes"
		}
		rows[i] = []string{current, v.Name, v.Address, v.Wire, token, textOr(v.CAFile)}
	}
	p.grid([]column{{name: ""}, {name: "NAME"}, {name: "ADDRESS"}, {name: "WIRE"}, {name: "TOKEN"}, {name: "CA FILE"}}, rows)
}

// warnIfOpen tells of a file that others can read.
func (a *app) warnIfOpen(file string) {
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
		a.say("iop: warning: others can read %s, which may hold tokens; chmod 600 mends that", file)
	}
}

func (a *app) contextUse() *cobra.Command {
	return &cobra.Command{
		Use:               "use NAME",
		Short:             "Use this server from now on",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContexts,
		Example:           "  iop context use lab",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeContexts(args[0], func(c *configs.CLI) (done string) {
				c.Current = args[0]
				return "In use: " + args[0]
			})
		},
	}
}

func (a *app) contextRm() *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME",
		Short:             "Forget a server",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContexts,
		Example:           "  iop context rm lab",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeContexts(args[0], func(c *configs.CLI) (done string) {
				c.Contexts = slices.DeleteFunc(c.Contexts, func(x configs.CLIContext) bool { return x.Name == args[0] })
				if c.Current != args[0] {
					return ""
				}
				c.Current = ""
				if len(c.Contexts) == 0 {
					return "No context is left."
				}
				return "None is in use now; iop context use NAME says which."
			})
		},
	}
}

// changeContexts changes the file, in which there is a context of this name, and says what is done then, if anything.
func (a *app) changeContexts(name string, change func(*configs.CLI) (done string)) error {
	contexts, err := a.loadContexts()
	if err != nil {
		return err
	}
	if contexts.Context(name) == nil {
		return failure{what: fmt.Sprintf("there is no context %q", name), next: "iop context ls", exit: exitNotFound}
	}
	return a.saveContexts(contexts, change(contexts))
}

// saveContexts says what is done only when it is kept.
func (a *app) saveContexts(contexts *configs.CLI, done ...string) error {
	if err := contexts.Save(); err != nil {
		return err
	}
	for _, text := range done {
		if text != "" {
			a.say("%s", text)
		}
	}
	return nil
}

func (a *app) contextSet() *cobra.Command {
	var tokenFile string
	var tokenStdin bool
	c := &cobra.Command{
		Use:   "set NAME",
		Short: "Add a server, or change one",
		Long: `Adds a server under a name, or changes those of its settings that are given. The first server added is in use at once.

A token is read from stdin, or stays in its own file; there is no flag for one, because everybody on the machine could
read it in the list of processes.`,
		Args: cobra.ExactArgs(1),
		Example: `  iop context set lab --addr http://127.0.0.1:18080
  iop context set lab --token-stdin < token.txt
  iop context set lab --wire ws://127.0.0.1:19080/client`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if !wire.ValidEdgeID(name) { // names have the same rule
				return usage(cmd, "the name %q isn't one; expected %s", name, wire.EdgeIDRule)
			}
			if tokenFile != "" && tokenStdin {
				return usage(cmd, "--token-file and --token-stdin both name a token; give one of them")
			}
			contexts, err := a.loadContexts()
			if err != nil {
				return err
			}
			done := "Changed: " + name
			x := contexts.Context(name)
			if x == nil {
				if a.flags.address == "" {
					return usage(cmd, "a new context needs --addr")
				}
				contexts.Contexts = append(contexts.Contexts, configs.CLIContext{Name: name})
				x = contexts.Context(name)
				done = fmt.Sprintf("Added: %s. In use is still %s; iop context use %[1]s changes that.", name, contexts.Current)
			}
			forgotten, err := a.fillContext(cmd.Context(), x, tokenFile, tokenStdin)
			if err != nil {
				return err
			}
			if contexts.Current == "" {
				contexts.Current, done = name, "In use: "+name
			}
			err = a.saveContexts(contexts, forgotten, done)
			if wrong := (configs.Problems)(nil); errors.As(err, &wrong) { // the file was right when it was read
				return usage(cmd, "%s", texts(wrong))
			}
			return err
		},
	}
	c.Flags().StringVar(&tokenFile, "token-file", "", "read the token from this `file` at each use")
	c.Flags().BoolVar(&tokenStdin, "token-stdin", false, "read the token from stdin, and keep it; a terminal is asked for it, and doesn't show it")
	return c
}

// texts are what is wrong, without where in the file it would have stood.
func texts(wrong configs.Problems) string {
	all := make([]string, len(wrong))
	for i, p := range wrong {
		all[i] = p.Text
	}
	return strings.Join(all, "; ")
}

// readToken reads the token from stdin. A terminal is asked for it and shows nothing of it.
func (a *app) readToken(ctx context.Context) (string, error) {
	keyboard, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(keyboard.Fd())) {
		return configs.ReadToken(a.stdin)
	}
	before, err := term.GetState(int(keyboard.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(a.stderr, "Token: ")
	defer a.say("")
	type typed struct {
		line []byte
		err  error
	}
	read := make(chan typed, 1)
	go func() { // a terminal can't be asked to stop waiting
		line, err := term.ReadPassword(int(keyboard.Fd()))
		read <- typed{line, err}
	}()
	select {
	case t := <-read:
		if t.err != nil {
			return "", t.err
		}
		return configs.ReadToken(bytes.NewReader(t.line))
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(keyboard.Fd()), before))
	}
}

// fillContext takes over what was given. A token and a Client wire stay only with the address that they were given for: a new token
// must not go to the old host. A file is read at each use, from whatever directory, so its path is kept whole; it is read once here, so that a
// wrong one is told now. forgotten says what isn't kept.
func (a *app) fillContext(ctx context.Context, x *configs.CLIContext, tokenFile string, tokenStdin bool) (forgotten string, err error) {
	if address := a.flags.address; address != "" {
		if address = withScheme(address); x.Address != address {
			forgotten = forgetOld(x, tokenFile != "" || tokenStdin, a.flags.wire != "")
		}
		x.Address = address
	}
	if a.flags.wire != "" {
		x.Wire = withWireScheme(a.flags.wire)
	}
	if a.flags.caFile != "" {
		if x.CAFile, err = filepath.Abs(a.flags.caFile); err != nil {
			return "", err
		}
		if _, err := (&target{caFile: x.CAFile}).tls(); err != nil {
			return "", err
		}
	}
	switch {
	case tokenFile != "":
		x.Token = ""
		if x.TokenFile, err = filepath.Abs(tokenFile); err != nil {
			return "", err
		}
		if _, err := x.ReadToken(); err != nil {
			return "", &usageError{err, "iop context set"}
		}
	case tokenStdin:
		token, err := a.readToken(ctx)
		if err != nil {
			return "", &usageError{fmt.Errorf("stdin %w; expected one line, the token", err), "iop context set"}
		}
		x.Token, x.TokenFile = token, ""
	}
	return forgotten, nil
}

// forgetOld takes away what belongs to a context's old address, and says so unless another one is given.
func forgetOld(x *configs.CLIContext, newToken, newWire bool) (forgotten string) {
	var old []string
	if !newToken && (x.Token != "" || x.TokenFile != "") {
		old = append(old, "The address is another one, so the token is forgotten.")
	}
	if !newWire && x.Wire != "" {
		old = append(old, "The address is another one, so the Client wire is port "+defaultWirePort+" there; --wire sets another one.")
	}
	x.Token, x.TokenFile, x.Wire = "", "", ""
	return strings.Join(old, "\n")
}
