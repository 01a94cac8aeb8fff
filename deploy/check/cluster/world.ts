/**
 * Owns the cluster: "nodes" that are namespaces of this machine, the outside that they are linked to (where this process runs, with the control plane and the
 * servers), and the links between. Nothing of it outlives this process (keep.sh).
 */

import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { eventually } from '@tidemark/testkit/eventually';
import { Kube } from './kube.ts';
import { start, startServers } from './servers.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;
/** Where the nodes find what is outside. */
export const OUTSIDE = '10.99.0.100';
const SERVER = `https://${OUTSIDE}:6443`;

export interface Place {
  /** All files of this run. */
  readonly run: string;
  /** Programs and unpacked images. */
  readonly cache: string;
  readonly group: string;
  readonly nodeCount: number;
}

export class World {
  readonly place: Place;
  readonly nodes: readonly number[];
  kube!: Kube;
  /** The first process of each node, by its number. */
  readonly #first = new Map<number, number>();

  constructor(place: Place) {
    this.place = place;
    this.nodes = Array.from({ length: place.nodeCount }, (_, index) => index + 1);
  }

  /** Resolves with nodes that are ready and servers that answer. */
  async start(): Promise<void> {
    const { run: folder } = this.place;
    outsideNetwork();
    await Promise.all([run(`${HERE}/pki.sh`, [`${folder}/pki`]), ...this.nodes.map((n) => this.#startNode(n))]);
    this.kube = new Kube(SERVER, folder);
    await Promise.all([startServers(folder, OUTSIDE), this.#startControl()]);
    await this.kube.apply(readFileSync(`${HERE}/manifests/coredns.yaml`, 'utf8'));
    for (const n of this.nodes) await eventually(() => this.#isReady(n), { what: `node n${n} is ready` });
    await this.kube.kubectl('-n', 'kube-system', 'rollout', 'status', 'deploy/coredns', '--timeout=60s');
  }

  /** The silent kind: packets are gone, and nobody is told. */
  cut(n: number): void {
    nft(`add table inet cut; ${['input', 'forward'].map((hook) => rules(hook, `iifname "e${n}"`)).join(' ')}
      ${['output', 'forward'].map((hook) => rules(`${hook}`, `oifname "e${n}"`)).join(' ')}`);
  }

  mend(): void {
    nft('delete table inet cut');
  }

  /** At once, with all that runs on it, and silently. */
  vanish(n: number): void {
    this.cut(n);
    process.kill(this.#first.get(n)!, 'SIGKILL');
  }

  /** A file as the processes of that node see it. */
  fileOf(n: number, file: string): string {
    return `/proc/${this.#first.get(n)}/root${file}`;
  }

  /** The process of a service in that pod, as this process sees it. */
  processOf(pod: string, service: string): number {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const isService = readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`node\0/app/services/${service}/`);
        if (isService && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOSTNAME=${pod}`))
          return Number(pid);
      } catch {
        // It has ended meanwhile.
      }
    }
    throw new Error(`no process of ${service} in ${pod}`);
  }

  async #startNode(n: number): Promise<void> {
    const { run: folder, cache, group } = this.place;
    const own = `${folder}/n${n}`;
    await run('mkdir', ['-p', own]);
    const log = openSync(`${own}/node.log`, 'a');
    const env = { ...process.env, RUN: folder, GROUP: group, CACHE: cache };
    const child = spawn('bash', [`${HERE}/node.sh`, String(n)], { env, stdio: ['ignore', log, log] });
    await eventually(() => existsSync(`${own}/up`), { what: `the namespaces of node ${n}` });
    const first = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
    this.#first.set(n, first);
    sh(`ip link add e${n} type veth peer name e0 netns ${first}
      ip link set e${n} up
      ip route add 10.99.0.${n}/32 dev e${n} src ${OUTSIDE}
      ip route add 10.244.${n}.0/24 via 10.99.0.${n} dev e${n} src ${OUTSIDE}`);
  }

  async #startControl(): Promise<void> {
    const { run: folder, cache } = this.place;
    const pki = `${folder}/pki`;
    const begin = (name: string, command: readonly string[]): void => start(folder, { name, command, folder });
    begin('etcd', ['etcd', '--data-dir', `${folder}/etcd`, '--unsafe-no-fsync']);
    begin('apiserver', [`${cache}/bin/kube-apiserver`, ...apiserverFlags(pki, folder)]);
    await eventually(() => this.kube.ask('GET', '/readyz').then(() => true), { what: 'the API server is ready' });
    const as = (name: string): string[] =>
      ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].flatMap((flag) => [
        `--${flag}`,
        `${pki}/${name}.conf`,
      ]);
    begin('controllers', [
      `${cache}/bin/kube-controller-manager`,
      ...as('controllers'),
      ...controllerFlags(pki, folder),
    ]);
    begin('scheduler', [
      `${cache}/bin/kube-scheduler`,
      ...as('scheduler'),
      '--leader-elect=false',
      '--bind-address',
      '127.0.0.1',
    ]);
    // The outside reaches services too, as a neighbour of the first node.
    writeFileSync(`${folder}/proxy.yaml`, proxyConfig(pki, 'n1'));
    for (const n of this.nodes) writeFileSync(`${folder}/proxy-n${n}.yaml`, proxyConfig(pki, `n${n}`));
    writeFileSync(`${folder}/ready`, '');
    begin('proxy', [`${cache}/bin/kube-proxy`, '--config', `${folder}/proxy.yaml`]);
  }

  async #isReady(n: number): Promise<boolean> {
    const { status } = await this.kube.ask('GET', `/api/v1/nodes/n${n}`);
    return status.conditions.some(
      ({ type, status: is }: { type: string; status: string }) => type === 'Ready' && is === 'True',
    );
  }
}

const sh = (script: string): void => {
  execFileSync('sh', ['-ec', script]);
};
const nft = (script: string): void => {
  execFileSync('nft', ['-f', '-'], { input: script });
};
const rules = (hook: string, of: string): string =>
  `add chain inet cut ${hook} { type filter hook ${hook} priority -300; }; add rule inet cut ${hook} ${of} drop;`;

/** No way leads from here to the machine's own network. */
function outsideNetwork(): void {
  sh(`ip link set lo up
    ip addr add ${OUTSIDE}/32 dev lo
    ip route add 10.96.0.0/16 dev lo src ${OUTSIDE}
    echo 1 >/proc/sys/net/ipv4/ip_forward
    mount -t tmpfs tmpfs /run`);
}

function apiserverFlags(pki: string, folder: string): readonly string[] {
  const flags = {
    'etcd-servers': 'http://127.0.0.1:2379',
    'advertise-address': OUTSIDE,
    'secure-port': 6443,
    'allow-privileged': true,
    'tls-cert-file': `${pki}/apiserver.crt`,
    'tls-private-key-file': `${pki}/apiserver.key`,
    'client-ca-file': `${pki}/ca.crt`,
    'kubelet-client-certificate': `${pki}/apiserver-kubelet.crt`,
    'kubelet-client-key': `${pki}/apiserver-kubelet.key`,
    'kubelet-certificate-authority': `${pki}/ca.crt`,
    'kubelet-preferred-address-types': 'InternalIP',
    'requestheader-client-ca-file': `${pki}/front-proxy-ca.crt`,
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-username-headers': 'X-Remote-User',
    'proxy-client-cert-file': `${pki}/front-proxy.crt`,
    'proxy-client-key-file': `${pki}/front-proxy.key`,
    'service-account-key-file': `${pki}/sa.key`,
    'service-account-signing-key-file': `${pki}/sa.key`,
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-cluster-ip-range': '10.96.0.0/16',
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'cert-dir': `${folder}/apiserver`,
  };
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
}

function controllerFlags(pki: string, folder: string): readonly string[] {
  const flags = {
    'service-account-private-key-file': `${pki}/sa.key`,
    'root-ca-file': `${pki}/ca.crt`,
    'cluster-signing-cert-file': `${pki}/ca.crt`,
    'cluster-signing-key-file': `${pki}/ca.key`,
    'use-service-account-credentials': true,
    'allocate-node-cidrs': false,
    'leader-elect': false,
    // By default 15 s.
    'horizontal-pod-autoscaler-sync-period': '5s',
    'bind-address': '127.0.0.1',
    'cert-dir': `${folder}/controllers`,
  };
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
}

const proxyConfig = (pki: string, node: string): string =>
  JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: `${pki}/proxy.conf` },
    mode: 'nftables',
    clusterCIDR: '10.244.0.0/16',
    hostnameOverride: node,
    // Settings of the whole machine stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpCloseWaitTimeout: '0s', tcpEstablishedTimeout: '0s' },
  });
