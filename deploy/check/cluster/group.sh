#!/usr/bin/env bash
# group.sh NAME PID: a new cgroup of that name in every hierarchy, with that process.
set -euo pipefail
for hierarchy in /sys/fs/cgroup/{cpu,cpuacct,cpuset,memory,devices,freezer,blkio,pids,systemd,unified}; do
  [[ -d $hierarchy ]] || continue
  mkdir -p "$hierarchy/$1"
  if [[ $hierarchy == */cpuset ]]; then
    for file in cpus mems; do cat "$hierarchy/cpuset.$file" >"$hierarchy/$1/cpuset.$file"; done
  fi
  echo "$2" >"$hierarchy/$1/cgroup.procs"
done
