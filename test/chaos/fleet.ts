/** Owns the servers, the ledger and the processes of a run, from start to end: whatever happens, nothing of them is left. */

import path from 'node:path';
import {
  type ClusterKind,
  isUnavailable,
  type NativeServer,
  type ServerKind,
  startKafkaBehindProxies,
  startServer,
} from '@tidemark/testkit/servers';
import { type LedgerProcess, startLedger } from './ledger-process.ts';
import { DRAIN_MS } from './limits.ts';
import { Slot, serviceOf } from './slot.ts';

const COORDINATORS = 2;
const PARTITIONS = 128;
const DATABASE = 'chaos';
const TOPIC = 'chaos';

export interface FleetOptions {
  readonly workerCount: number;
  readonly seed: number;
  /** Gets the processes' logs and the ledger's file. */
  readonly folder: string;
  readonly onSurprise: (what: string) => void;
  /** The tree of the release that processes begin with; by default this one. */
  readonly root?: string | undefined;
  readonly partitions?: number;
}

export class Fleet {
  readonly slots: readonly Slot[];
  readonly ledgerFile: string;
  readonly #seed: number;
  readonly #compiled: string;
  readonly #partitions: number;
  #servers: Readonly<Record<ClusterKind, NativeServer>> | undefined;
  #ledger: LedgerProcess | undefined;

  constructor({ workerCount, seed, folder, onSurprise, root, partitions = PARTITIONS }: FleetOptions) {
    this.#partitions = partitions;
    const slot = (role: 'coordinator' | 'worker') => (_: unknown, index: number) =>
      new Slot(role, index, folder, onSurprise, serviceOf(role, root));
    this.slots = [
      ...Array.from({ length: COORDINATORS }, slot('coordinator')),
      ...Array.from({ length: workerCount }, slot('worker')),
    ];
    this.ledgerFile = path.join(folder, 'ledger.jsonl');
    this.#seed = seed;
    this.#compiled = path.join(folder, 'compiled');
  }

  get workers(): readonly Slot[] {
    return this.slots.filter((slot) => slot.role === 'worker');
  }

  get coordinators(): readonly Slot[] {
    return this.slots.filter((slot) => slot.role === 'coordinator');
  }

  get servers(): Readonly<Record<ClusterKind, NativeServer>> {
    if (this.#servers === undefined) throw new Error('the fleet has not started');
    return this.#servers;
  }

  get ledgerPort(): number {
    return this.#ledger?.port ?? 0;
  }

  /** Settings that lead to the servers themselves, round every proxy. */
  get env(): Record<string, string> {
    return {
      TIDEMARK_KAFKA_BROKERS: this.servers.kafka.address,
      TIDEMARK_REDIS_URL: this.servers.redis.address,
      TIDEMARK_POSTGRES_URL: this.databaseUrl.href,
      TIDEMARK_TOPIC: TOPIC,
      TIDEMARK_PARTITIONS: String(this.#partitions),
      TIDEMARK_ENCRYPTION: 'off',
    };
  }

  get databaseUrl(): URL {
    const url = new URL(this.servers.postgres.address);
    url.pathname = `/${DATABASE}`;
    return url;
  }

  /** Resolves when every process is up. */
  async start(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.links.listen()));
    const proxies = this.slots.map((slot) => `127.0.0.1:${slot.links.proxies.kafka.port}`);
    const [kafka, redis, postgres, ledger] = await Promise.all([
      startKafkaBehindProxies(proxies),
      startNative('redis'),
      startNative('postgres'),
      startLedger(this.ledgerFile, this.#seed),
    ]);
    this.#servers = { kafka: kafka.server, redis, postgres };
    this.#ledger = ledger;
    await Promise.all(
      this.slots.map((slot, index) =>
        slot.start({
          ...this.env,
          ...slot.links.lead({
            kafka: kafka.listeners[index]!,
            redis: new URL(redis.address),
            postgres: this.databaseUrl,
          }),
          TIDEMARK_WORKFLOWS: './test/chaos/workload.ts,./test/chaos/family-workload.ts',
          TIDEMARK_DRAIN_MS: String(DRAIN_MS),
          TIDEMARK_CHAOS_LEDGER: String(ledger.port),
          // A process that is started for the hundredth time need not be compiled again.
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? this.#compiled,
        }),
      ),
    );
  }

  /** Ends the processes, then the servers, then the ledger. Harmless when repeated. */
  async close(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.close()));
    await Promise.all(Object.values(this.#servers ?? {}).map((server) => server.stop()));
    await this.#ledger?.stop();
  }

  /** Kills the processes without waiting; servers end with this process by themselves. */
  killNow(): void {
    for (const slot of this.slots) slot.killNow();
  }
}

export async function startNative(kind: ServerKind): Promise<NativeServer> {
  const server = await startServer(kind, { sources: ['native'] });
  if (isUnavailable(server)) throw new Error(`no native ${kind}: ${server.unavailable}. Remedy: ${server.remedy}.`);
  if (server.source !== 'native') throw new Error(`${kind} is not a native server`);
  return server;
}
