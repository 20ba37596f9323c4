package slurmtest

import (
	"bytes"
	"crypto/rand"
	_ "embed" // the templates of the configuration
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"text/template"
)

//go:embed slurm.conf.tmpl
var slurmConf string

//go:embed slurmdbd.conf.tmpl
var slurmdbdConf string

// confValues is what the templates name.
type confValues struct {
	Host, Addr, NodeList, DBPass                    string
	ControllerPort, AccountingPort, DBPort          int
	FirstNodePort, LastNodePort                     int
	MungeSocket, JWTKey, Spool, Run, Log, StateSave string
}

// makeDirs makes the folders, each with the owner that writes there.
func (c *Cluster) makeDirs() error {
	dirs := []struct{ name, owner string }{
		{"", "root"},
		{"etc", "root"},
		{"dev", "root"},
		{"run", "slurm"},
		{"log", "slurm"},
		{"state", "slurm"},
		{"spool", "root"},
		{"munge", "munge"},
		{"mysql", "mysql"},
		{"rest", GPUOp},
		{"ssh", "root"},
		{"home", "root"},
	}
	for _, u := range people() {
		dirs = append(dirs, struct{ name, owner string }{"home/" + u, u})
	}
	for _, d := range dirs {
		a, err := lookup(d.owner)
		if err == nil {
			err = ownedDir(c.path(d.name), a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeConfig writes the keys and every configuration file.
func (c *Cluster) writeConfig() error {
	c.dbPass = rand.Text()
	v, err := c.values()
	if err != nil {
		return err
	}
	slurm, err1 := render(slurmConf, v)
	dbd, err2 := render(slurmdbdConf, v)
	gres := fmt.Sprintf("NodeName=%s Name=gpu Type=h100 File=%s[0-%d]\n", v.NodeList, c.path("dev", "nvidia"), gpusPerNode-1)
	return errors.Join(err1, err2,
		c.secret("munge", c.path("munge", "key"), 1024),
		c.secret("slurm", v.JWTKey, 32),
		c.write("slurm.conf", "root", 0o644, slurm),
		c.write("slurmdbd.conf", "slurm", 0o600, dbd), // holds a password
		c.write("gres.conf", "root", 0o644, gres),
		c.write("cgroup.conf", "root", 0o644, c.cgroupConf()),
		c.simulateGPUs(),
	)
}

func (c *Cluster) values() (confValues, error) {
	host, err := os.Hostname()
	if err != nil {
		return confValues{}, err
	}
	return confValues{
		Host: host, Addr: c.addr, NodeList: c.opts.nodeList(), DBPass: c.dbPass,
		ControllerPort: c.port(portController), AccountingPort: c.port(portAccounting), DBPort: c.port(portDatabase),
		FirstNodePort: c.port(portNodes), LastNodePort: c.port(portNodes) + c.opts.Nodes - 1,
		MungeSocket: c.mungeSocket(), JWTKey: c.path("state", "jwt_hs256.key"),
		Spool: c.path("spool"), Run: c.path("run"), Log: c.path("log"), StateSave: c.path("state"),
	}, nil
}

func (c *Cluster) mungeSocket() string { return c.path("munge", "socket") }

func render(text string, v confValues) (string, error) {
	t, err := template.New("conf").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

// cgroupConf keeps slurmd off the machine's cgroups. The v1 plugin of old versions
// needs none mounted when nothing is constrained; those from 23.11 on can go without.
func (c *Cluster) cgroupConf() string {
	if c.Since(23, 11) {
		return "CgroupPlugin=disabled\n"
	}
	return "CgroupPlugin=cgroup/v1\n"
}

// simulateGPUs makes the device files that gres.conf names. A plain file is refused;
// a link to a character device is enough and needs no mknod.
func (c *Cluster) simulateGPUs() error {
	for i := range gpusPerNode {
		err := os.Symlink("/dev/null", c.path("dev", "nvidia"+strconv.Itoa(i)))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// secret writes n random bytes that only the owner may read.
func (c *Cluster) secret(owner, path string, n int) error {
	key := make([]byte, n)
	_, _ = rand.Read(key) // never fails
	return writeAs(owner, path, 0o600, key)
}

// write writes a file of the etc folder.
func (c *Cluster) write(name, owner string, mode fs.FileMode, text string) error {
	return writeAs(owner, c.path("etc", name), mode, []byte(text))
}

func writeAs(owner, path string, mode fs.FileMode, data []byte) error {
	a, err := lookup(owner)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}
