/**
 * Owns a hostile run: real servers and services with the services' own memory limits, tenants that attack, and one beside them that
 * works. First it compares what the tenant beside waits for under malformed and under valid requests of one rate, round by round; then
 * it sends all the rest, as requests and as records, as fast as they are taken. Sends to this machine alone, and stops by itself.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { eventually } from '@tidemark/testkit/eventually';
import { memoryBytes, type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { freePort, freshTopicName } from '@tidemark/testkit/servers';
import { median, quantile } from '../bench/report.ts';
import type { Attack, Order, Outcome } from './attack.ts';
import {
  ATTACKERS_COUNT,
  COORDINATOR_MAX_MB,
  LARGE_SIGNAL_VALUES_COUNT,
  LARGE_SIGNALS_COUNT,
  LARGE_WORKFLOWS_COUNT,
  RECORDS_SHARE,
  TENANT_RATE,
  WORKER_MAX_MB,
} from './limits.ts';
import { appendHostile, sampleRecords } from './records.ts';

/** Addresses of the servers; the database is empty. */
export interface HostileServers {
  readonly kafka: string;
  readonly redis: string;
  readonly postgres: string;
}

export interface HostileOptions {
  readonly servers: HostileServers;
  readonly inputs: number;
  readonly seed: string;
  /** Requests a second in the comparison. */
  readonly rate: number;
  readonly rounds: number;
  readonly roundS: number;
  /** Told what happens; for people. */
  readonly onNote: (text: string) => void;
}

export interface HostileResult {
  readonly inputs: number;
  readonly crashes: number;
  readonly errors5xx: number;
  /** Requests that had no answer in time. */
  readonly unanswered: number;
  readonly tenantErrors: number;
  /** Median over the rounds of the tenant's p99 under malformed requests, in relation to that under valid ones. */
  readonly tenantP99Ratio: number;
  readonly tenantP99Ms: { readonly valid: number; readonly hostile: number };
  /** Cores of the machine that were idle under malformed requests. */
  readonly idleCores: number;
  readonly peakMb: { readonly coordinator: number; readonly worker: number };
  readonly statuses: Readonly<Record<string, number>>;
  /** What was wrong, for people. */
  readonly faults: readonly string[];
}

const CLI = path.resolve(import.meta.dirname, '../../libs/operate/cli/src/main.ts');
const MB = 1_048_576;
const PATIENCE_MS = 120_000;

/** A service that is started again when it ends, and counted. */
class Watched {
  readonly #start: () => Promise<ServiceProcess>;
  #service: ServiceProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  crashes = 0;
  peakMb = 0;

  constructor(start: () => Promise<ServiceProcess>) {
    this.#start = start;
  }

  async start(): Promise<void> {
    this.#service = await this.#start();
    this.#timer = setInterval(() => void this.check(), 500);
  }

  /** Whether it lives, and how large it is. */
  async check(): Promise<void> {
    if (this.#isChecking || this.#service === undefined) return;
    this.#isChecking = true;
    try {
      const { peak } = await memoryBytes(this.#service.pid).catch(() => ({ peak: 0 }));
      this.peakMb = Math.max(this.peakMb, peak / MB);
      if (peak > 0) return;
      this.crashes++;
      this.#service = await this.#start();
    } finally {
      this.#isChecking = false;
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const service = this.#service;
    this.#service = undefined;
    await service?.stop();
  }
}

/** Idle seconds of all cores since the machine started. */
async function idleSeconds(): Promise<number> {
  const fields = (await readFile('/proc/stat', 'utf8')).split('\n')[0]!.split(/\s+/);
  return (Number(fields[4]) + Number(fields[5])) / 100;
}

/** The tenant beside: starts a workflow, and looks at it, at a steady rate. */
class TenantBeside {
  readonly #url: string;
  readonly #key: string;
  #count = 0;
  errors = 0;
  readonly faults: string[] = [];

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  async ask(
    method: string,
    at: string,
    body?: object | string,
  ): Promise<{ readonly status: number; readonly ms: number; readonly json: Record<string, unknown> }> {
    const startedMs = performance.now();
    const response = await fetch(`${this.#url}${at}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const json = (await response.json()) as Record<string, unknown>;
    return { status: response.status, ms: performance.now() - startedMs, json };
  }

  /** Latencies in ms. */
  async workFor(ms: number): Promise<readonly number[]> {
    const latencies: number[] = [];
    const one = async (): Promise<void> => {
      try {
        const id = `beside-${process.pid}-${++this.#count}`;
        const begun = await this.ask('POST', '/v1/workflows', { definition: 'greet', input: { name: 'Eve' }, id });
        const seen = await this.ask('GET', `/v1/workflows/${id}`);
        latencies.push(begun.ms, seen.ms);
        if (begun.status !== 201 || seen.status !== 200)
          this.#fault(`answers ${begun.status} and ${seen.status}: ${JSON.stringify(begun.json)}`);
      } catch (error) {
        this.#fault(String(error));
      }
    };
    const pending: Promise<void>[] = [];
    const startedMs = performance.now();
    for (let number = 0; ; number++) {
      const atMs = startedMs + (number * 1_000) / TENANT_RATE;
      if (atMs - startedMs > ms) break;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - performance.now())));
      pending.push(one());
    }
    await Promise.all(pending);
    return latencies;
  }

  /** Whether workflows that are started now are done soon. */
  async finishes(count: number): Promise<void> {
    for (let number = 0; number < count; number++) {
      const id = `after-${process.pid}-${number}`;
      await this.ask('POST', '/v1/workflows', { definition: 'greet', input: { name: 'Eve' }, id });
      await eventually(async () => (await this.ask('GET', `/v1/workflows/${id}`)).json.status === 'completed', {
        timeoutMs: PATIENCE_MS,
        what: `workflow ${id} of the tenant beside is completed`,
      });
    }
  }

  #fault(text: string): void {
    this.errors++;
    if (this.faults.length < 10) this.faults.push(`tenant beside: ${text}`);
  }
}

/** Of an administrator of all tenants, from the command line of the cluster. */
async function firstKey(env: Readonly<Record<string, string>>): Promise<string> {
  const args = ['admin', 'access', 'create-key', '--name', 'hostile', '--role', 'admin', '--all-tenants', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args], { env: { ...process.env, ...env } });
  return (JSON.parse(stdout) as { readonly secret: string }).secret;
}

export async function runHostile(options: HostileOptions): Promise<HostileResult> {
  const { onNote, servers } = options;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-hostile-'));
  const port = await freePort();
  const topic = freshTopicName('hostile');
  const env: Record<string, string> = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka,
    TIDEMARK_REDIS_URL: servers.redis,
    TIDEMARK_POSTGRES_URL: servers.postgres,
    TIDEMARK_TOPIC: topic,
    TIDEMARK_PARTITIONS: '128',
    TIDEMARK_KEYS_URL: pathToFileURL(path.join(folder, 'keys.json')).href,
    TIDEMARK_WORKFLOWS: path.join(import.meta.dirname, 'workflows.ts'),
  };
  const coordinator = new Watched(() =>
    startService('coordinator', { ...env, TIDEMARK_API_HOST: '127.0.0.1', TIDEMARK_API_PORT: String(port) }),
  );
  const worker = new Watched(() => startService('worker', env));
  let thread: Worker | undefined;
  try {
    await coordinator.start();
    await worker.start();
    const first = await firstKey(env);
    const url = `http://127.0.0.1:${port}`;
    const admin = new TenantBeside(url, first);
    const keyOf = async (tenant: string, role: string): Promise<string> =>
      eventually(
        async () => {
          const answer = await admin.ask('POST', '/v1/keys', { name: role, roles: [role], tenant, expires_at: null });
          return answer.status === 201 && String(answer.json.secret);
        },
        { timeoutMs: PATIENCE_MS, what: `a key of ${tenant} is made` },
      ) as Promise<string>;
    const beside = new TenantBeside(url, await keyOf('beside', 'operator'));
    const attackers = [];
    for (let number = 1; number <= ATTACKERS_COUNT; number++) {
      const tenant = `attacker-${number}`;
      const workflow = `w-${tenant}`;
      attackers.push({ viewer: await keyOf(tenant, 'viewer'), operator: await keyOf(tenant, 'operator'), workflow });
      await admin.ask('POST', '/v1/workflows', { definition: 'listen', input: {}, id: workflow, tenant });
    }
    const large = `[${'{},'.repeat(LARGE_SIGNAL_VALUES_COUNT - 1)}{}]`;
    for (const { workflow } of attackers.slice(0, LARGE_WORKFLOWS_COUNT)) {
      for (let count = 0; count < LARGE_SIGNALS_COUNT; count++)
        await admin.ask('POST', `/v1/workflows/${workflow}/signals`, `{"name":"go","value":${large}}`);
    }
    await beside.finishes(3);
    thread = new Worker(new URL('./attack.ts', import.meta.url), {
      workerData: { port, seed: options.seed, attackers } satisfies Attack,
    });
    const attack = async (order: Order): Promise<Outcome> => {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
      thread!.once('message', resolve).once('error', reject);
      thread!.postMessage(order);
      return promise;
    };
    const outcomes: Outcome[] = [];
    const rounds = [];
    const roundMs = options.roundS * 1_000;
    let idleCores = 0;
    for (let round = 0; round < options.rounds; round++) {
      const p99: Record<string, number> = {};
      for (const kind of ['valid', 'hostile'] as const) {
        const idleBefore = await idleSeconds();
        const [outcome, latencies] = await Promise.all([
          attack({ kind, count: Number.POSITIVE_INFINITY, forMs: roundMs, rate: options.rate }),
          beside.workFor(roundMs),
        ]);
        p99[kind] = quantile(latencies, 0.99);
        if (kind === 'hostile') {
          outcomes.push(outcome);
          idleCores += ((await idleSeconds()) - idleBefore) / options.roundS / options.rounds;
        }
      }
      rounds.push({ valid: p99.valid!, hostile: p99.hostile! });
      onNote(
        `round ${round + 1}: p99 of the tenant beside ${p99.valid!.toFixed(1)} ms beside valid requests, ${p99.hostile!.toFixed(1)} ms beside hostile ones`,
      );
    }
    const sent = (): number => outcomes.reduce((sum, outcome) => sum + outcome.sent, 0);
    const records = Math.round(options.inputs * RECORDS_SHARE);
    const left = Math.max(0, options.inputs - records - sent());
    onNote(`${left} requests more, as fast as they are answered`);
    const startedMs = performance.now();
    outcomes.push(await attack({ kind: 'hostile', count: left, forMs: Number.POSITIVE_INFINITY, rate: 0 }));
    onNote(`took ${((performance.now() - startedMs) / 1_000).toFixed(0)} s; now ${records} records`);
    // Each attacker's workflow was opened, claimed and released at least.
    const samples = await sampleRecords(servers.kafka, topic, 3 * ATTACKERS_COUNT, '"tenant":"attacker-');
    await appendHostile(servers.kafka, topic, options.seed, records, samples);
    await beside.finishes(10);
    await Promise.all([coordinator.check(), worker.check()]);
    const statuses: Record<string, number> = {};
    for (const outcome of outcomes) {
      for (const [status, count] of Object.entries(outcome.statuses))
        statuses[status] = (statuses[status] ?? 0) + count;
    }
    const counted = (is: (status: string) => boolean): number =>
      Object.entries(statuses).reduce((sum, [status, count]) => sum + (is(status) ? count : 0), 0);
    return {
      inputs: sent() + records,
      crashes: coordinator.crashes + worker.crashes,
      errors5xx: counted((status) => status.startsWith('5') && status !== '503'),
      unanswered: counted((status) => status === 'none'),
      tenantErrors: beside.errors,
      tenantP99Ratio: median(rounds.map(({ valid, hostile }) => hostile / valid)),
      tenantP99Ms: {
        valid: median(rounds.map(({ valid }) => valid)),
        hostile: median(rounds.map(({ hostile }) => hostile)),
      },
      idleCores,
      peakMb: { coordinator: coordinator.peakMb, worker: worker.peakMb },
      statuses,
      faults: [...outcomes.flatMap(({ faults }) => faults), ...beside.faults].slice(0, 40),
    };
  } finally {
    await thread?.terminate();
    await Promise.all([coordinator.stop(), worker.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a run must hold, and does not; empty: all of it. */
export function brokenBy(result: HostileResult): readonly string[] {
  const broken: string[] = [];
  if (result.crashes > 0) broken.push(`${result.crashes} services ended`);
  if (result.errors5xx > 0) broken.push(`${result.errors5xx} answers were 5xx other than 503`);
  if (result.unanswered > 0) broken.push(`${result.unanswered} requests had no answer`);
  if (result.tenantErrors > 0) broken.push(`${result.tenantErrors} requests of the tenant beside failed`);
  if (result.peakMb.coordinator > COORDINATOR_MAX_MB)
    broken.push(`the coordinator took ${result.peakMb.coordinator.toFixed(0)} MB`);
  if (result.peakMb.worker > WORKER_MAX_MB) broken.push(`the worker took ${result.peakMb.worker.toFixed(0)} MB`);
  return broken;
}
