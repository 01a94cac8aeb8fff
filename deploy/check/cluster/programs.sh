#!/usr/bin/env bash
# Builds the programs of a cluster from their Go modules into .cache/deploy-tools/cluster/bin, each once: Kubernetes (20 minutes of two cores), CoreDNS (8),
# KEDA (9). Needs Go. What is there already is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

kubernetes=1.34.4
coredns=1.14.7
keda=2.21.0
cache=$(realpath ../../..)/.cache/deploy-tools/cluster
mkdir -p "$cache/bin" "$cache/src"
# One package at a time, after whoever else works on the machine.
export GOFLAGS='-mod=mod -p=1 -buildvcs=false' CGO_ENABLED=0

module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }
build() { # program, package, flags of the linker
  nice -n 5 go build -ldflags "-s -w ${3:-}" -o "$cache/bin/$1.part" "$2" && mv "$cache/bin/$1.part" "$cache/bin/$1"
}

# Kubernetes' parts are versions v0.X of their own; within its repository they lie beside each other.
build_kubernetes() {
  local source folder=$cache/src/kubernetes package flags=
  mkdir -p "$folder"
  source=$(module "k8s.io/kubernetes@v$kubernetes")
  {
    printf 'module tidemark.example/kubernetes\n'
    grep -E '^go ' "$source/go.mod"
    printf 'require k8s.io/kubernetes v%s\nrequire k8s.io/component-base v0.%s\n' "$kubernetes" "${kubernetes#1.}"
    sed -nE "s/^\t(k8s\.io\/[a-z0-9-]+) v0\.0\.0$/replace \1 => \1 v0.${kubernetes#1.}/p" "$source/go.mod" | sort -u
  } >"$folder/go.mod"
  cp kubernetes/main.go "$folder/"
  # What kubectl and helm ask the server for.
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=v$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=$(cut -d. -f2 <<<"$kubernetes")"
    flags+=" -X $package.gitTreeState=clean -X $package.gitCommit=0000"
  done
  (cd "$folder" && build "kubernetes-$kubernetes" . "$flags")
}

build_coredns() {
  local folder=$cache/src/coredns
  mkdir -p "$folder"
  printf 'module tidemark.example/coredns\n' >"$folder/go.mod"
  cp coredns/main.go "$folder/"
  (cd "$folder" && go get "github.com/coredns/coredns@v$coredns" && build "coredns-$coredns" .)
}

build_keda() {
  local source
  source=$(module "github.com/kedacore/keda/v2@v$keda")
  kubectl kustomize "$source/config/default" >"$cache/keda.yaml"
  keda/trim.sh "$source" "$cache/src/keda"
  for part in operator adapter; do (cd "$cache/src/keda" && build "keda-$part-$keda" "./cmd/$part"); done
}

# Names without versions are links, made when all is built.
ensure() { # program with its version, command that builds it
  [[ -x $cache/bin/$1 ]] || "$2"
}
ensure "kubernetes-$kubernetes" build_kubernetes
ensure "coredns-$coredns" build_coredns
ensure "keda-adapter-$keda" build_keda
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy; do ln -sfn "kubernetes-$kubernetes" "$cache/bin/$name"; done
ln -sfn "coredns-$coredns" "$cache/bin/coredns"
for part in operator adapter; do ln -sfn "keda-$part-$keda" "$cache/bin/keda-$part"; done
