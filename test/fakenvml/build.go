// Package fakenvml builds a stand-in for NVIDIA's libnvidia-ml.so.1, so that tests run
// the real go-nvml, its dlopen and its symbol look-ups, without a GPU. The library reads
// plain text files that tests (and people) edit while programs run:
//
//	lib := fakenvml.Build(t)
//	state := lib.State(t, 8, fakenvml.H100)
//	cmd.Env = append(os.Environ(), state.Env()...)
//	state.Set(2, "temperature", "91")
//	state.Fault("nvmlDeviceGetTemperature 3 hang")
//
// The C sources are in src. Two libraries come of them: one of a driver of 2025, and
// one that exports only what a driver of 2019 had. They are kept in the user's cache
// directory, under the hash of their sources.
package fakenvml

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed src/*.c src/*.h
var sources embed.FS

// name is what programs look for.
const name = "libnvidia-ml.so.1"

// errNoCompiler says that the library cannot be built here.
var errNoCompiler = errors.New("no C compiler (cc)")

// Library is a built library.
type Library struct{ dir string }

// Build builds the library, or takes it from the cache. It skips the test where there
// is no C compiler.
func Build(t testing.TB) Library { return build(t, false) }

// BuildOld builds the library of an old driver: no MIG, no remapped rows, no recovery
// action, no second versions.
func BuildOld(t testing.TB) Library { return build(t, true) }

func build(t testing.TB, old bool) Library {
	t.Helper()
	lib, err := Make(t.Context(), old)
	if errors.Is(err, errNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// Make is Build and BuildOld outside of a test. It runs in a directory of the module,
// whose go-nvml has the header.
func Make(ctx context.Context, old bool) (Library, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return Library{}, errNoCompiler
	}
	header, err := headerDir(ctx)
	if err != nil {
		return Library{}, err
	}
	args := []string{"-std=gnu11", "-O1", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-I", header}
	if old {
		args = append(args, "-DFAKENVML_OLD")
	}
	sum, err := hash(args)
	if err != nil {
		return Library{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "gpuctl-fakenvml", sum)
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return Library{dir}, nil
	}
	return Library{dir}, compile(ctx, cc, args, dir)
}

// headerDir finds nvml.h in the module cache.
func headerDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		return "", fmt.Errorf("find go-nvml's nvml.h: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "pkg", "nvml"), nil
}

// hash names a build by its sources and arguments; the module's path in these holds its
// version.
func hash(args []string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, args)
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, path)
		fmt.Fprintln(h, path, len(text))
		h.Write(text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:20], err
}

// compile builds next to the target and renames: other processes build at the same time.
func compile(ctx context.Context, cc string, args []string, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err = os.CopyFS(work, sources); err != nil {
		return err
	}
	units, err := filepath.Glob(filepath.Join(work, "src", "*.c"))
	if err != nil {
		return err
	}
	built := filepath.Join(work, name)
	args = append(append(args, "-o", built), units...)
	if out, err := exec.CommandContext(ctx, cc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(built, filepath.Join(dir, name))
}

// Dir is where the library is, for LD_LIBRARY_PATH.
func (l Library) Dir() string { return l.dir }

// Path is the library itself.
func (l Library) Path() string { return filepath.Join(l.dir, name) }
