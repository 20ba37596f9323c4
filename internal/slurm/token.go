package slurm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// TokenSource gives the token with which slurmrestd knows us. Its methods are safe
// for concurrent use. A token is a secret: no error and no log ever holds one.
type TokenSource interface {
	// Token returns the token to use now.
	Token(ctx context.Context) (string, error)
	// Rejected tells that the server did not accept token: if there is a way to get
	// another, the next Token gives that one.
	Rejected(token string)
}

// EnvToken is the name of an environment variable that holds the token.
type EnvToken string

// Token reads the variable.
func (e EnvToken) Token(context.Context) (string, error) {
	tok, err := cleanToken(os.Getenv(string(e)))
	if err != nil {
		return "", fmt.Errorf("environment variable %s: %w", string(e), err)
	}
	return tok, nil
}

// Rejected does nothing: the variable is read afresh each time.
func (EnvToken) Rejected(string) {}

// FileToken is the path of a file that holds the token. It is read afresh each
// time, so whoever renews the file needs to tell nobody.
type FileToken string

// Token reads the file.
func (f FileToken) Token(context.Context) (string, error) {
	text, err := os.ReadFile(string(f))
	if err != nil {
		return "", fmt.Errorf("token file: %w: %w", ErrAuth, err)
	}
	tok, err := cleanToken(string(text))
	if err != nil {
		return "", fmt.Errorf("token file %s: %w", string(f), err)
	}
	return tok, nil
}

// Rejected does nothing: the file is read afresh each time.
func (FileToken) Rejected(string) {}

// commandToken asks a command for a token and keeps it until it is about to expire
// or was rejected.
type commandToken struct {
	run  func(ctx context.Context, argv []string) (Output, error)
	argv []string
	turn chan struct{} // holds one item; whoever takes it may run the command and touch what follows
	tok  string
	due  time.Time // when to ask again; zero: only when rejected
}

// CommandToken returns a source that runs argv, without a shell, for a token on
// its standard output ("SLURM_JWT=..." as scontrol prints it, or the bare token).
// It runs again before the token expires and after a rejection.
func CommandToken(run func(ctx context.Context, argv []string) (Output, error), argv []string) TokenSource {
	c := &commandToken{run: run, argv: argv, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Token returns the token at hand, or a new one.
func (c *commandToken) Token(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-c.turn:
	}
	defer func() { c.turn <- struct{}{} }()
	now := time.Now()
	if c.tok != "" && (c.due.IsZero() || now.Before(c.due)) {
		return c.tok, nil
	}
	tok, err := c.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("token command %s: %w", c.argv[0], err)
	}
	c.tok, c.due = tok, renewalOf(tok, now)
	return tok, nil
}

// ask runs the command.
func (c *commandToken) ask(ctx context.Context) (string, error) {
	out, err := c.run(ctx, c.argv)
	if err != nil {
		return "", err
	}
	if out.Exit != 0 {
		said, _, _ := strings.Cut(strings.TrimSpace(string(out.Stderr)), "\n")
		return "", fmt.Errorf("%w: exit %d: %s", ErrAuth, out.Exit, said)
	}
	return cleanToken(string(out.Stdout))
}

// Rejected forgets the token, unless a newer one is at hand already.
func (c *commandToken) Rejected(token string) {
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	if c.tok == token {
		c.tok = ""
	}
}

// renewalOf is when a token obtained now wants renewal: a minute before it expires,
// or a tenth of its life if that is less. Zero when it does not say.
func renewalOf(tok string, now time.Time) time.Time {
	c := readClaims(tok)
	if c.expires.IsZero() {
		return time.Time{}
	}
	return c.expires.Add(-min(time.Minute, c.expires.Sub(now)/10))
}

// cleanToken takes a token out of a line of text. It must be one printable word, so
// that it can stand in a header. The error does not show it.
func cleanToken(text string) (string, error) {
	tok := strings.TrimSpace(text)
	tok = strings.Trim(strings.TrimPrefix(tok, "SLURM_JWT="), `"'`)
	if tok == "" {
		return "", fmt.Errorf("%w: no token", ErrAuth)
	}
	for _, r := range tok {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("%w: what is there is not a token", ErrAuth)
		}
	}
	return tok, nil
}

// claims is what a token says of itself. Nothing is verified: that is the
// server's business. It serves renewal and plainer errors.
type claims struct {
	user    string
	expires time.Time
}

// readClaims reads the payload of a JSON web token; empty when it is none.
func readClaims(tok string) claims {
	parts := strings.Split(tok, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || !json.Valid(payload) {
		return claims{}
	}
	r := newRecord(payload)
	return claims{user: r.text("sun"), expires: r.time("exp")}
}
