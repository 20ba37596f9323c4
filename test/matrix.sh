#!/bin/bash
# matrix.sh SUITE: runs the tests against a real Slurm with the Slurm of another Debian
# suite (trixie: 24.11, forky: newer), in a chroot; RUN=REGEXP runs some. Needs root on Debian. The chroot is
# kept for the next run; make clean removes it. Mounts are private to this process.
set -euo pipefail

suite=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=${GPUCTL_CHROOTS:-/var/tmp/gpuctl-matrix}/$suite

if [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ]; then
  echo "matrix: $suite skipped: needs root on Debian"
  exit 0
fi

# The chroot itself.
if [ ! -e "$root/.complete" ]; then
  if ! command -v debootstrap >/dev/null; then
    echo "matrix: apt-get install debootstrap"
    apt-get install -y --no-install-recommends debootstrap >/dev/null ||
      { apt-get update >/dev/null; apt-get install -y --no-install-recommends debootstrap >/dev/null; }
  fi
  echo "matrix: debootstrap $suite into $root"
  rm -rf "$root"
  mkdir -p "$root"
  # the mirror that this machine installs from
  mirror=${DEBIAN_MIRROR:-$(grep -rhoE '(https?|ftp)://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ')}
  [ -n "$mirror" ] || { echo "matrix: no Debian mirror in /etc/apt: set DEBIAN_MIRROR"; exit 1; }
  script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid # a suite newer than this debootstrap
  debootstrap --variant=minbase "$suite" "$root" "$mirror" "$script" >"$root.log" 2>&1 ||
    { tail "$root.log"; exit 1; }
  touch "$root/.complete"
fi

# What runs there, built here.
mkdir -p "$root/opt/gpuctl" "$root/run/lock"
cd "$here"
export CGO_ENABLED=0
go build -o "$root/opt/gpuctl/" ./cmd/gpuctl ./test/slurmtest/cmd/slurm-testbed
for pkg in slurmtest e2e; do go test -c -o "$root/opt/gpuctl/$pkg.test" "./test/$pkg"; done
[ ! -d test/e2e/testdata ] || cp -r test/e2e/testdata "$root/opt/gpuctl/"

cp -f /etc/resolv.conf /etc/hosts "$root/etc/"

# shellcheck disable=SC2016 -- expanded in there
exec unshare --mount --propagation private bash -c '
  set -euo pipefail
  root=$1
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount --bind /run/lock "$root/run/lock" # ports are shared with the clusters outside
  cd "$root"
  exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    ${http_proxy:+http_proxy=$http_proxy} ${https_proxy:+https_proxy=$https_proxy} GPUCTL_BINARY=/opt/gpuctl/gpuctl "RUN=${RUN:-.}" \
    bash -euo pipefail -c "
      cd /opt/gpuctl
      ./slurm-testbed install
      slurmctld -V
      ./slurmtest.test -test.v -test.short -test.run \"\$RUN\"
      ./e2e.test -test.v -test.timeout 20m -test.run \"\$RUN\"
    "
' matrix "$root" | awk -f test/summary.awk
