package remote

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Challenge is what a server asks by keyboard-interactive: a one-time code, say.
type Challenge struct {
	Host, User        string
	Name, Instruction string
	Questions         []Question
}

// Question is one question of a Challenge.
type Question struct {
	Text string
	Echo bool // the answer is no secret
}

// Prompt answers a Challenge, one answer a question.
type Prompt func(ctx context.Context, c Challenge) ([]string, error)

// authMethods offers the keys, and the questions only to a server that wants them
// as well or still. x/crypto picks the next method from what the server says it
// would go on with, so a server without keyboard-interactive is never asked for it.
func authMethods(ctx context.Context, t target, k *keyring, prompt Prompt) []ssh.AuthMethod {
	signers := make([]ssh.Signer, len(k.offers))
	for i, id := range k.offers {
		signers[i] = id.signer
	}
	var methods []ssh.AuthMethod
	if len(signers) > 0 {
		methods = append(methods, ssh.PublicKeys(signers...))
	}
	if prompt == nil {
		return methods
	}
	return append(methods, ssh.KeyboardInteractive(func(name, instruction string, texts []string, echos []bool) ([]string, error) {
		if len(texts) == 0 {
			return nil, nil
		}
		c := Challenge{Host: t.from.Alias, User: t.user, Name: name, Instruction: instruction}
		for i, text := range texts {
			c.Questions = append(c.Questions, Question{Text: text, Echo: echos[i]})
		}
		return prompt(ctx, c)
	}))
}

// authError says who was refused with what, and what else there would have been.
func authError(t target, k *keyring, cause error) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s@%s accepts none of our identities: ", t.user, t.addr())
	offered := make([]string, len(k.offers))
	for i, id := range k.offers {
		offered[i] = id.name + " (" + fingerprint(id.key) + ")"
	}
	if len(offered) == 0 {
		b.WriteString("there was none to offer")
	} else {
		b.WriteString("offered " + strings.Join(offered, ", "))
	}
	if len(k.skipped) > 0 {
		b.WriteString("; left out: " + strings.Join(k.skipped, ", "))
	}
	if len(t.notes) > 0 {
		b.WriteString("; " + strings.Join(t.notes, "; "))
	}
	return fmt.Errorf("%w: %s (%w)", ErrAuth, b.String(), cause)
}
