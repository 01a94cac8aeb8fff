#!/usr/bin/env bash
# cluster.sh [--json] [--nodes 1|2]: the chart on a real Kubernetes (deploy/check/cluster/main.ts), called by `deploy/check.sh --cluster`. Builds what it
# needs first, once (cluster/programs.sh, 40 minutes; cluster/images.sh). Needs root with cgroup v1, Go, Debian's packages containerd, runc, etcd-server, buildah,
# debootstrap, nftables and containernetworking-plugins, and what tests of real servers need. It leaves nothing behind, however it ends (cluster/keep.sh), but a
# copy of its logs in the folder KEEP_LOGS where it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/deploy/check/cluster
cache=$(realpath "$PWD/.cache/deploy-tools")/cluster

fail() {
  printf 'FAILED   cluster: %s\n' "$1" >&2
  exit 1
}
[[ $(id -u) == 0 ]] || fail 'it takes root'
[[ -d /sys/fs/cgroup/pids ]] || fail 'it takes cgroups of version 1'
for program in go containerd runc etcd buildah debootstrap nft ip openssl helm kubectl unshare; do
  command -v "$program" >/dev/null || fail "$program is missing"
done
[[ -x /usr/lib/cni/ptp ]] || fail "Debian's package containernetworking-plugins is missing"

mkdir -p "$cache"
for build in programs images; do
  "$here/$build.sh" >"$cache/$build.log" 2>&1 || fail "$build.sh: $(tail -n 5 "$cache/$build.log")"
done

group=tidemark-check-$$
run=$cache/run-$$
# Its other end is this shell's alone: the keeper sees it close, whatever ends the shell.
exec {kept}> >(exec setsid "$here/keep.sh" "$run" "$group")
keeper=$!
until [[ -d $run ]]; do sleep 0.05; done
end() { # exit code
  exec {kept}>&-
  wait "$keeper" || true
  exit "$1"
}
trap 'end 130' INT
trap 'end 143' TERM
(
  exec {kept}>&-
  "$here/group.sh" "$group-n0" "$BASHPID"
  RUN=$run GROUP=$group CACHE=$cache exec unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc node "$here/main.ts" "$@"
) &
code=0
wait $! || code=$?
[[ $code == 0 || -z ${KEEP_LOGS:-} ]] || cp -r "$run" "$KEEP_LOGS"
end "$code"
