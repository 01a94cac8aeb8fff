#!/usr/bin/env bash
# node.sh N [inside]: "node" N of the cluster whose folder is $RUN and whose cgroups begin with $GROUP: network, mount, uts, ipc, pid and cgroup namespaces of its
# own, with containerd, kubelet and kube-proxy. It ends with its first process, and with it all that runs there. Of the machine's cgroup tree nothing is changed
# but one new group a hierarchy, and nothing is written outside of $RUN.
set -euo pipefail
n=$1 folder=$RUN/n$1
controllers=(cpu cpuacct cpuset memory devices freezer blkio pids)
if [[ ${2:-} != inside ]]; then
  "$(dirname "$0")/group.sh" "$GROUP-n$n" $$
  exec unshare --mount --net --uts --ipc --pid --cgroup --fork --kill-child --propagation private bash "$0" "$n" inside
fi

mount -t proc proc /proc
hostname "n$n"
umount -l -R /sys
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
for controller in "${controllers[@]}"; do
  mkdir "/sys/fs/cgroup/$controller"
  mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
  mkdir -p "/sys/fs/cgroup/$controller/system"
  if [[ $controller == cpuset ]]; then
    for file in cpus mems; do cat "/sys/fs/cgroup/cpuset/cpuset.$file" >"/sys/fs/cgroup/cpuset/system/cpuset.$file"; done
  fi
  echo $$ >"/sys/fs/cgroup/$controller/system/cgroup.procs"
done
for place in /run /var/log /var/lib; do mount -t tmpfs -o mode=755 tmpfs "$place"; done
mkdir -p /var/lib/kubelet /var/log/pods /var/log/containers "$folder"/{kubelet,fake}
mount --bind "$folder/kubelet" /var/lib/kubelet
mount --make-shared /var/lib/kubelet
# What the kubelet wants of the kernel, and would write for the whole machine: it finds it so.
fake() { # setting, value
  local file=/proc/sys/${1//.//}
  [[ -e $file ]] || return 0
  echo "$2" >"$folder/fake/$1"
  mount --bind "$folder/fake/$1" "$file"
}
fake vm.overcommit_memory 1
fake vm.panic_on_oom 0
fake kernel.panic 10
fake kernel.panic_on_oops 1
fake kernel.keys.root_maxkeys 1000000
fake kernel.keys.root_maxbytes 25000000
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward

# No bridge and no NAT: one pair of interfaces a pod, and routes.
mkdir -p "$folder/cni"
cat >"$folder/cni/10-pods.conflist" <<CNI
{"cniVersion":"0.4.0","name":"pods","plugins":[
 {"type":"ptp","ipMasq":false,"mtu":1500,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.$n.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}],"dataDir":"/run/cni"}}]}
CNI
# Unpacked images are the cache's, read alone; the tables of what there is are the node's own.
images=$CACHE/containerd content=io.containerd.content.v1.content snapshots=io.containerd.snapshotter.v1.overlayfs metadata=io.containerd.metadata.v1.bolt
for source in "$images/$content/blobs" "$images/$snapshots"/snapshots/*; do
  target=$folder/containerd/${source#"$images/"}
  mkdir -p "$target"
  mount --bind "$source" "$target"
  mount -o remount,bind,ro "$target"
done
mkdir "$folder/containerd/$metadata"
cp "$images/$metadata/meta.db" "$folder/containerd/$metadata/"
cp "$images/$snapshots/metadata.db" "$folder/containerd/$snapshots/"
# restrict_oom_score_adj: sandboxes fail where CAP_SYS_RESOURCE is missing ("can't get final child's PID from pipe: EOF").
cat >"$folder/containerd.toml" <<TOML
version = 2
root = "$folder/containerd"
state = "/run/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
TOML
printf 'search .\nnameserver 127.0.0.1\n' >"$folder/resolv.conf"
pki=$RUN/pki
cat >"$folder/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: $pki/ca.crt } }
authorization: { mode: Webhook }
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: $folder/resolv.conf
tlsCertFile: $pki/n$n.crt
tlsPrivateKeyFile: $pki/n$n.key
evictionHard: { memory.available: 200Mi, nodefs.available: 2%, imagefs.available: 2% }
imageGCHighThresholdPercent: 99
imageGCLowThresholdPercent: 98
maxPods: 60
makeIPTablesUtilChains: false
nodeStatusUpdateFrequency: 5s
shutdownGracePeriod: 0s
YAML

echo up >"$folder/up"
# The link to the outside is made by whoever started this, once it has seen the file.
until ip link show e0 >/dev/null 2>&1; do sleep 0.05; done
ip link set e0 up
ip addr add "10.99.0.$n/32" dev e0
ip route add 10.99.0.100/32 dev e0 src "10.99.0.$n"
ip route add default via 10.99.0.100 dev e0 src "10.99.0.$n"

containerd --config "$folder/containerd.toml" >"$folder/containerd.log" 2>&1 &
until [[ -S /run/containerd/containerd.sock && -e $RUN/ready ]]; do sleep 0.1; done
"$CACHE/bin/kubelet" --config "$folder/kubelet.yaml" --kubeconfig "$pki/n$n.conf" --hostname-override "n$n" --node-ip "10.99.0.$n" >"$folder/kubelet.log" 2>&1 &
"$CACHE/bin/kube-proxy" --config "$RUN/proxy-n$n.yaml" >"$folder/proxy.log" 2>&1 &
# Bash as the first process reaps what becomes its child.
wait
