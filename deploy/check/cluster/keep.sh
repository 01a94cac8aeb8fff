#!/usr/bin/env bash
# keep.sh RUN GROUP: makes the folder of a cluster, and cleans up after it as soon as its standard input closes, which it does with the process that has the
# other end, however that ended. Kills all that is in cgroups of that name, removes those, and the folder. Mounts, links and tables of the network end with
# their namespaces.
trap '' INT TERM HUP
run=$1 group=$2
[[ $group == tidemark-check-* ]] || exit 1
mkdir "$run"
read -r _
root=/sys/fs/cgroup
for _ in $(seq 100); do
  for file in $(find "$root/pids" -path "$root/pids/$group*" -name cgroup.procs 2>/dev/null); do
    xargs -r kill -9 <"$file" 2>/dev/null
  done
  find "$root" -mindepth 2 -depth -type d -path "$root/*/$group*" -exec rmdir {} + 2>/dev/null
  compgen -G "$root/*/$group*" >/dev/null || break
  sleep 0.1
done
for _ in $(seq 20); do rm -rf --one-file-system "$run" 2>/dev/null && break; sleep 0.2; done
