#!/usr/bin/env bash
# Builds the images of a cluster (buildah) and unpacks them once, as the root folder of a containerd whose parts every node mounts:
# .cache/deploy-tools/cluster/containerd. They are built again when what they are made of has changed. Needs root, buildah, containerd; programs.sh was run.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$here/../../.."
cache=$PWD/.cache/deploy-tools/cluster
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs TMPDIR=$cache/tmp
mkdir -p "$TMPDIR"

made_of=$({
  git ls-files -z --cached --others --exclude-standard -- package.json package-lock.json libs services examples/patterns deploy/Dockerfile deploy/entrypoint.sh deploy/healthy.mjs deploy/check/cluster |
    grep -zvE '\.test\.ts$|^libs/testkit/|^deploy/check/cluster/[^/]*$|^deploy/check/cluster/manifests/' | xargs -0 sha256sum
  readlink "$cache"/bin/{coredns,keda-operator,keda-adapter}
} | sha256sum)
[[ -e $cache/containerd/made-of && $(<"$cache/containerd/made-of") == "$made_of" ]] && exit

work=$(mktemp -d)
containerd=
end() {
  [[ -z $containerd ]] || kill -KILL "$containerd" 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
build() { # name, context
  buildah build --format docker --pull-never --layers --tag "localhost/$1" "$2" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  buildah push "localhost/$1" "docker-archive:$work/$(tr : - <<<"$1").tar:localhost/$1" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
program() { # image, program, user
  mkdir "$work/$1"
  cp -L "$cache/bin/$2" "$work/$1/$1"
  printf 'FROM scratch\nCOPY %s /%s\nUSER %s\nENTRYPOINT ["/%s"]\n' "$1" "$1" "$3" "$1" >"$work/$1/Dockerfile"
  build "$1:1" "$work/$1"
}

deploy/check/image.sh
for release in 1 2; do
  mkdir "$work/agents-$release"
  cp "$here"/agents/{ticking,steady,keda,hpa,jobs}.ts "$work/agents-$release/"
  cp "$here/agents/ticks-$release.ts" "$work/agents-$release/ticks.ts"
  printf 'FROM localhost/tidemark:check\nCOPY *.ts /app/workflows/\n' >"$work/agents-$release/Dockerfile"
  build "agents:$release" "$work/agents-$release"
done
CGO_ENABLED=0 go build -C "$here/pause" -ldflags '-s -w' -o "$cache/bin/pause" main.go
program pause pause 65535:65535
program coredns coredns 0:0
program keda keda-operator 1000:1000
program keda-adapter keda-adapter 1000:1000

rm -rf "$cache/containerd" "$cache/containerd.part"
mkdir "$work/state"
cat >"$work/containerd.toml" <<TOML
version = 2
root = "$cache/containerd.part"
state = "$work/state"
[grpc]
  address = "$work/containerd.sock"
TOML
unshare --mount --net containerd --config "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
containerd=$!
for _ in $(seq 100); do ctr --address "$work/containerd.sock" version >/dev/null 2>&1 && break; sleep 0.1; done
for archive in "$work"/*.tar; do ctr --address "$work/containerd.sock" --namespace k8s.io images import "$archive" >/dev/null; done
kill "$containerd"
wait "$containerd" || true
containerd=
echo "$made_of" >"$cache/containerd.part/made-of"
mv "$cache/containerd.part" "$cache/containerd"
