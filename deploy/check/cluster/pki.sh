#!/usr/bin/env bash
# pki.sh FOLDER: certificates and kubeconfigs of a cluster, for a day.
set -euo pipefail
mkdir -p "$1"
cd "$1"
server=https://10.99.0.100:6443
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
authority() { # name
  key "$1"
  openssl req -x509 -new -key "$1.key" -days 1 -subj "/CN=$1" -out "$1.crt" \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' 2>/dev/null
}
certificate() { # authority, name, subject, other names
  key "$2"
  openssl req -new -key "$2.key" -subj "$3" -out "$2.csr"
  printf 'extendedKeyUsage=serverAuth,clientAuth\n%s\n' "${4:+subjectAltName=$4}" >"$2.ext"
  openssl x509 -req -in "$2.csr" -CA "$1.crt" -CAkey "$1.key" -CAcreateserial -days 1 -extfile "$2.ext" -out "$2.crt" 2>/dev/null
}
client() { # name, subject, other names
  certificate ca "$1" "$2" "${3:-}"
  cat >"$1.conf" <<YAML
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: '$server', certificate-authority: $PWD/ca.crt } }]
users: [{ name: u, user: { client-certificate: $PWD/$1.crt, client-key: $PWD/$1.key } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
YAML
}
authority ca
authority front-proxy-ca
certificate ca apiserver /CN=kube-apiserver \
  IP:10.96.0.1,IP:10.99.0.100,IP:127.0.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
certificate ca apiserver-kubelet /O=system:masters/CN=apiserver-kubelet
certificate ca metrics /CN=external-metrics DNS:external-metrics.agents.svc
certificate front-proxy-ca front-proxy /CN=front-proxy-client
client admin /O=system:masters/CN=admin
client controllers /CN=system:kube-controller-manager
client scheduler /CN=system:kube-scheduler
client proxy /CN=system:kube-proxy
for n in 1 2; do client "n$n" "/O=system:nodes/CN=system:node:n$n" "IP:10.99.0.$n,DNS:n$n"; done
openssl genrsa -out sa.key 2048 2>/dev/null
