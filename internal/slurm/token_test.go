package slurm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// makeToken makes a token as slurmctld would, with a signature that is none.
func makeToken(user string, exp time.Time) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"HS256","typ":"JWT"}`) + "." +
		part(fmt.Sprintf(`{"exp":%d,"iat":%d,"sun":%q}`, exp.Unix(), exp.Unix()-1800, user)) + ".c2lnbmF0dXJl"
}

func TestClaims(t *testing.T) {
	exp := time.Unix(1796082648, 0).UTC()
	if c := readClaims(makeToken("gpuop", exp)); c.user != "gpuop" || !c.expires.Equal(exp) {
		t.Errorf("%+v", c)
	}
	for _, tok := range []string{"", "a.b", "a.b.c", "a.!!.c", "a." + base64.RawURLEncoding.EncodeToString([]byte("7")) + ".c"} {
		if c := readClaims(tok); c != (claims{}) {
			t.Errorf("%q: %+v", tok, c)
		}
	}
}

// fixedToken is a token that never changes.
type fixedToken string

func (f fixedToken) Token(context.Context) (string, error) { return string(f), nil }

func (fixedToken) Rejected(string) {}

func TestTokensAreNeverShown(t *testing.T) {
	secret := "very secret\nthing"
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLURM_TEST_JWT", secret)
	run := func(context.Context, []string) (Output, error) { return Output{Stdout: []byte(secret)}, nil }
	for _, src := range []TokenSource{FileToken(path), EnvToken("SLURM_TEST_JWT"), CommandToken(run, []string{"get-token"})} {
		_, err := src.Token(t.Context())
		if !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%T: %v", src, err)
		}
	}
}

func TestFileTokenIsReadAfresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	src := FileToken(path)
	if _, err := src.Token(t.Context()); !errors.Is(err, ErrAuth) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	for _, want := range []string{"a.b.c", "d.e.f"} {
		if err := os.WriteFile(path, []byte("SLURM_JWT="+want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := src.Token(t.Context()); got != want || err != nil {
			t.Errorf("%q, want %q: %v", got, want, err)
		}
	}
}

// issuer is a command that gives a new token each time.
type issuer struct {
	calls int
	life  time.Duration
	fail  string
}

func (i *issuer) run(_ context.Context, argv []string) (Output, error) {
	i.calls++
	if i.fail != "" {
		return Output{Exit: 1, Stderr: []byte(i.fail)}, nil
	}
	tok := makeToken(fmt.Sprintf("gpuop%d", i.calls), time.Now().Add(i.life))
	return Output{Stdout: []byte("SLURM_JWT=" + tok + "\n")}, nil
}

func TestCommandTokenRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		src := CommandToken(i.run, []string{"scontrol", "token", "username=gpuop"})
		ask := func(want int) string {
			t.Helper()
			tok, err := src.Token(t.Context())
			if err != nil || i.calls != want {
				t.Errorf("after %d calls instead of %d: %v", i.calls, want, err)
			}
			return tok
		}
		ask(1)
		time.Sleep(58 * time.Minute)
		ask(1)
		time.Sleep(time.Minute) // a minute is left
		first := ask(2)
		src.Rejected(first)
		second := ask(3)
		src.Rejected(first) // an old rejection does not take the new token away
		if again := ask(3); again != second {
			t.Error("the token changed by itself")
		}
		i.life = 100 * time.Second
		src.Rejected(second)
		ask(4)
		time.Sleep(89 * time.Second)
		ask(4)
		time.Sleep(time.Second) // a tenth of its life is left
		ask(5)
	})
}

func TestCommandTokenFails(t *testing.T) {
	i := &issuer{fail: "permission denied for gpuop\nsecond line"}
	src := CommandToken(i.run, []string{"scontrol", "token"})
	_, err := src.Token(t.Context())
	if !errors.Is(err, ErrAuth) || !strings.HasSuffix(err.Error(), "permission denied for gpuop") {
		t.Errorf("%v", err)
	}
}

func TestCommandTokenRunsOnceForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		calls := 0
		src := CommandToken(func(context.Context, []string) (Output, error) {
			calls++
			<-release
			return Output{Stdout: []byte("a.b.c")}, nil
		}, []string{"slow"})
		for range 5 {
			go func() {
				if tok, err := src.Token(t.Context()); tok != "a.b.c" || err != nil {
					t.Errorf("%q: %v", tok, err)
				}
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := src.Token(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting does not heed its context: %v", err)
		}
		close(release)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}
