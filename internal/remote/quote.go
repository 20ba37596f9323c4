package remote

import (
	"fmt"
	"strings"
)

// maxCommand is what Linux takes as one argument of execve(2): the remote shell
// gets the whole command line as one word.
const maxCommand = 128<<10 - 1

// Quote makes one command line of argv that every POSIX shell takes apart into the
// same words again, and fish too. Single quotes are all it uses, with quotes and
// backslashes outside of them, so csh-like shells read it as well, except for words
// with a line feed.
func Quote(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", fmt.Errorf("%w: no command", ErrInput)
	}
	words := make([]string, len(argv))
	size := len(argv)
	for i, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return "", fmt.Errorf("%w: word %d of command %q has a NUL byte", ErrInput, i, argv[0])
		}
		words[i] = quoteWord(arg)
		if i == 0 && strings.Contains(arg, "=") {
			words[i] = quoted(arg) // a command, not an assignment
		}
		size += len(words[i])
	}
	if size > maxCommand {
		return "", fmt.Errorf("%w: the command line of %q has %d bytes, more than the %d a shell takes", ErrInput, argv[0], size, maxCommand)
	}
	return strings.Join(words, " "), nil
}

// quoteWord quotes one word unless all of its bytes are plain in every shell; zsh
// expands =word.
func quoteWord(s string) string {
	if s != "" && s[0] != '=' && !strings.ContainsFunc(s, needsQuote) {
		return s
	}
	return quoted(s)
}

// quoted keeps backslashes out of the quotes: fish takes "\'" inside for a quote, and
// would run what follows.
func quoted(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, `\`, `'\\'`).Replace(s) + "'"
}

func needsQuote(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:,@+=", r)
}
