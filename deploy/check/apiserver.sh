#!/usr/bin/env bash
# Asks a real API server of Kubernetes whether it takes what the chart makes: every values file of helm/tidemark/ci by a dry run on the server (schemas,
# defaults, admission, the CRDs of KEDA and the Prometheus operator), and that a worker's account may write its own pod's deletion cost and
# nothing else. There are no nodes, so no pod runs. Needs Go (the first time some minutes, cached in .cache/deploy-tools), etcd or Debian's package of it, helm,
# kubectl and openssl. Exits with 1 on a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

kubernetes=1.36.3
keda=v2.21.0
prometheus_operator=v0.85.0
tools=$PWD/.cache/deploy-tools
mkdir -p "$tools/bin"
export PATH="$PWD/node_modules/.bin:$tools/bin:$tools/etcd/usr/bin:$PATH"
# Below /tmp: the certificates of the server are made anew each time.
work=$(mktemp -d)
pids=()
end() {
  # At once: an API server whose store is gone waits for it.
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT

report() { printf '%-8s %s\n' "$1" "$2"; }
fail() {
  report FAILED "$1"
  [[ -f $work/log ]] && sed 's/^/         /' "$work/log"
  exit 1
}
check() { # name, command…
  local name=$1
  shift
  "$@" >"$work/log" 2>&1 || fail "$name"
  report ok "$name"
}
refused() { ! "$@"; }
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# Kubernetes' parts are versions v0.X of their own; within its repository they lie beside each other.
build_apiserver() {
  local folder=$work/build source
  mkdir -p "$folder"
  source=$(module "k8s.io/kubernetes@v$kubernetes")
  {
    echo 'module tidemark.example/apiserver'
    grep -E '^go ' "$source/go.mod"
    echo "require k8s.io/kubernetes v$kubernetes"
    sed -nE "s/^\t(k8s\.io\/[a-z0-9-]+) v0\.0\.0$/replace \1 => \1 v0.${kubernetes#1.}/p" "$source/go.mod" | sort -u
  } >"$folder/go.mod"
  # One package at a time: it is long, and whoever works on the same machine is not to wait for it.
  (cd "$folder" && GOFLAGS='-mod=mod -p=1' CGO_ENABLED=0 nice -n 19 go build -o "$tools/bin/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver)
}
get_etcd() {
  (cd "$work" && apt-get download etcd-server && dpkg-deb -x etcd-server_*.deb "$tools/etcd")
}

command -v kube-apiserver >/dev/null || check "kube-apiserver $kubernetes: built" build_apiserver
command -v etcd >/dev/null || check 'etcd: from the package' get_etcd
for program in helm kubectl; do
  command -v "$program" >/dev/null || fail "$program is missing: run deploy/check.sh first"
done

ports=($(node -e "
const net = require('node:net');
const servers = Array.from({ length: 3 }, () => net.createServer().listen(0, '127.0.0.1'));
Promise.all(servers.map((s) => new Promise((r) => s.once('listening', r)))).then(() => {
  console.log(servers.map((s) => s.address().port).join(' '));
  for (const s of servers) s.close();
});"))

# ── The server ──────────────────────────────────────────────────────────────────────────────────────────────────────
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=authority -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout "$work/server.key" -out "$work/server.csr" 2>/dev/null
printf 'subjectAltName=IP:127.0.0.1\n' >"$work/server.ext"
openssl x509 -req -in "$work/server.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 1 -extfile "$work/server.ext" \
  -out "$work/server.crt" 2>/dev/null
openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null
admin=$(openssl rand -hex 16)
echo "$admin,admin,admin,system:masters" >"$work/tokens.csv"

etcd --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:${ports[0]}" --advertise-client-urls "http://127.0.0.1:${ports[0]}" \
  --listen-peer-urls "http://127.0.0.1:${ports[1]}" --unsafe-no-fsync >"$work/etcd.log" 2>&1 &
pids+=($!)
kube-apiserver --etcd-servers "http://127.0.0.1:${ports[0]}" --bind-address 127.0.0.1 --secure-port "${ports[2]}" \
  --tls-cert-file "$work/server.crt" --tls-private-key-file "$work/server.key" --token-auth-file "$work/tokens.csv" \
  --service-account-key-file "$work/accounts.key" --service-account-signing-key-file "$work/accounts.key" \
  --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.0.0.0/24 --authorization-mode RBAC \
  --disable-admission-plugins ServiceAccount --cert-dir "$work" >"$work/apiserver.log" 2>&1 &
pids+=($!)
server=https://127.0.0.1:${ports[2]}
k() { kubectl --server "$server" --certificate-authority "$work/ca.crt" --token "${token:-$admin}" --kubeconfig /dev/null --cache-dir "$work/cache" "$@"; }
ready() {
  for _ in $(seq 240); do
    k get --raw /readyz >/dev/null 2>&1 && return
    kill -0 "${pids[1]}" || { tail -n 20 "$work/apiserver.log"; return 1; }
    sleep 0.5
  done
  tail -n 20 "$work/apiserver.log"
  return 1
}
check "kube-apiserver $kubernetes: ready" ready

# ── What the chart makes ────────────────────────────────────────────────────────────────────────────────────────────
crds() {
  k apply --server-side -f "$(module "github.com/kedacore/keda/v2@$keda")/config/crd/bases"
  local bundle
  bundle=$(module "github.com/prometheus-operator/prometheus-operator@$prometheus_operator")/example/prometheus-operator-crd
  for kind in podmonitors prometheusrules; do k apply --server-side -f "$bundle/monitoring.coreos.com_$kind.yaml"; done
  k wait --for=condition=Established --timeout=60s crd --all
}
check 'CRDs of KEDA and the Prometheus operator' crds
k create namespace agents >/dev/null
k label namespace agents pod-security.kubernetes.io/warn=restricted >/dev/null

rendered() { helm template trial helm/tidemark --namespace agents --kube-version "$kubernetes" --values "$1" >"$work/manifests.yaml"; }
accepted() {
  rendered "$1"
  k apply --namespace agents --server-side --dry-run=server --validate=strict -f "$work/manifests.yaml"
}
for values in helm/tidemark/ci/*.yaml; do
  check "helm/tidemark: taken by the server, $(basename "$values")" accepted "$values"
done
# What pods of pools.yaml may not have is the hostPath of its notice file.
restricted() {
  rendered "$1"
  { accepted "$1"; } >"$work/taken" 2>&1 && ! grep 'would violate PodSecurity' "$work/taken"
}
for values in own-servers trial-servers everything; do
  check "helm/tidemark: Pod Security restricted, $values.yaml" restricted "helm/tidemark/ci/$values.yaml"
done
check 'Pod Security: what is not restricted is found' refused restricted helm/tidemark/ci/pools.yaml
# A checker that takes everything checks nothing.
finds_wrong() {
  rendered helm/tidemark/ci/pools.yaml
  sed -i "$1" "$work/manifests.yaml"
  refused k apply --namespace agents --server-side --dry-run=server --validate=strict -f "$work/manifests.yaml"
}
check 'an unknown field is refused' finds_wrong 's/terminationGracePeriodSeconds:/terminationGraceSeconds:/'
check 'an unknown field of KEDA is refused' finds_wrong 's/pollingInterval:/pollInterval:/'
check 'a wrong value is refused' finds_wrong 's/antiAffinity: required/&/; s/whenUnsatisfiable: ScheduleAnyway/whenUnsatisfiable: Perhaps/'

# ── A worker's own deletion cost ────────────────────────────────────────────────────────────────────────────────────
rendered helm/tidemark/ci/pools.yaml
helm template trial helm/tidemark --namespace agents --kube-version "$kubernetes" --values helm/tidemark/ci/pools.yaml \
  --show-only templates/service-account.yaml --show-only templates/deletion-cost.yaml >"$work/account.yaml"
check 'the account of workers' k apply --namespace agents --server-side -f "$work/account.yaml"
for pod in own other; do
  k run "$pod" --namespace agents --image example/agents --overrides '{"spec":{"serviceAccountName":"trial-tidemark-worker"}}' >/dev/null
done
mkdir "$work/account"
k create token trial-tidemark-worker --namespace agents --bound-object-kind Pod --bound-object-name own >"$work/account/token"
cp "$work/ca.crt" "$work/account/ca.crt"
printf agents >"$work/account/namespace"
cost() { k get pod "$1" --namespace agents -o 'jsonpath={.metadata.annotations.controller\.kubernetes\.io/pod-deletion-cost}'; }
keeps_cost() { node deploy/check/deletion-cost.ts "$work/account" "${ports[2]}" own && [[ $(cost own) == 92 ]]; }
# A policy counts some moments after it was made.
policed() {
  for _ in $(seq 60); do
    token=$(<"$work/account/token") k annotate pod other --namespace agents --overwrite probe="$RANDOM" >/dev/null 2>&1 || return 0
    sleep 0.5
  done
  return 1
}
check "a worker may not change another's pod" policed
check 'a worker keeps the cost of its own pod current' keeps_cost
as_worker() { token=$(<"$work/account/token") k "$@" --namespace agents; }
check "a worker may not write another's cost" refused as_worker annotate pod other controller.kubernetes.io/pod-deletion-cost=1
check 'a worker may not write another annotation of its own' refused as_worker annotate pod own example=1
check 'a worker may not label its own pod' refused as_worker label pod own example=1
check 'a worker may not change its own image' refused as_worker patch pod own -p '{"spec":{"containers":[{"name":"own","image":"example/other"}]}}'
check 'a worker may not read pods' refused as_worker get pods
check 'a worker may not read secrets' refused as_worker get secrets
