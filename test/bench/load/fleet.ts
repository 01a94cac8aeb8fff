/**
 * Owns the servers and processes of a load run, from start to end: whatever happens, nothing of them is left. The servers' data is in
 * memory; history that is no longer hot goes into a folder on disk.
 */

import path from 'node:path';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import type { ClusterKind, NativeServer } from '@tidemark/testkit/servers';
import { freePort } from '@tidemark/testkit/servers';
import kafkajs from 'kafkajs';
import { startNative } from '../../chaos/fleet.ts';
import { LedgerClient } from '../../chaos/ledger-client.ts';
import { type LedgerProcess, startLedger } from '../../chaos/ledger-process.ts';
import { Slot } from '../../chaos/slot.ts';
import { familyNamed } from '../processes.ts';
import { BROKER_FILE_BYTES, DRAIN_MS, HOT, PARTITIONS_PER_LIVE } from './limits.ts';
import type { Members } from './usage.ts';

// A CommonJS module, of which Node sees only some of the names.
const { ConfigResourceTypes, Kafka, logLevel } = kafkajs;
const TOPIC = 'load';
/** Of Node, for each service, as every bench takes them. */
const FURTHER_FLAGS = (process.env.TIDEMARK_SERVICE_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
const ROOT = path.resolve(import.meta.dirname, '../../..');

export interface FleetOptions {
  readonly coordinatorCount: number;
  readonly workerCount: number;
  readonly liveCount: number;
  readonly seed: number;
  /** Gets logs, the ledger's file and the archive. */
  readonly folder: string;
  /** Flags of Node for each service, a profile for example. */
  readonly flags: readonly string[];
  readonly onSurprise: (what: string) => void;
}

export class LoadFleet {
  readonly slots: readonly Slot[];
  readonly ledgerFile: string;
  /** Of each slot's metrics endpoint. */
  readonly metricsPorts = new Map<string, number>();
  readonly #options: FleetOptions;
  #servers: Readonly<Record<ClusterKind, NativeServer>> | undefined;
  #ledger: LedgerProcess | undefined;
  #host: Host | undefined;

  constructor(options: FleetOptions) {
    const { coordinatorCount, workerCount, folder, flags, onSurprise } = options;
    this.#options = options;
    this.ledgerFile = path.join(folder, 'ledger.jsonl');
    const slots = (role: 'coordinator' | 'worker' | 'compactor', count: number): Slot[] =>
      Array.from({ length: count }, (_, index) => {
        const args = [...flags, ...FURTHER_FLAGS, path.join(ROOT, 'services', role, 'src/main.ts')];
        return new Slot(role, index, folder, onSurprise, { args, restartDelayMs: 0 });
      });
    this.slots = [...slots('coordinator', coordinatorCount), ...slots('worker', workerCount), ...slots('compactor', 1)];
  }

  get host(): Host {
    if (this.#host === undefined) throw new Error('the fleet has not started');
    return this.#host;
  }

  get postgresUrl(): string {
    return this.#servers!.postgres.address;
  }

  /** Those that may be ended: all but the first of each role. */
  get targets(): readonly string[] {
    return this.slots.filter(({ name }) => !name.endsWith('-0')).map(({ name }) => name);
  }

  /** Resolves when every process is up. `notesPort`: where workers tell of their steps. */
  async start(notesPort: number): Promise<void> {
    const { folder, seed } = this.#options;
    const [kafka, redis, postgres] = await Promise.all([
      startNative('kafka'),
      startNative('redis'),
      startNative('postgres'),
    ]);
    this.#servers = { kafka, redis, postgres };
    this.#ledger = await startLedger(this.ledgerFile, seed);
    await calm(this.#ledger.port);
    this.#host = await openCluster(configFromEnv(this.#env));
    await keepBrokerFilesSmall(kafka.address);
    const env = {
      ...this.#env,
      TIDEMARK_WORKFLOWS: './test/bench/load/workload.ts',
      TIDEMARK_DRAIN_MS: String(DRAIN_MS),
      TIDEMARK_CHAOS_LEDGER: String(this.#ledger.port),
      TIDEMARK_LOAD_NOTES: String(notesPort),
      // A process that is started for the hundredth time need not be compiled again.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(folder, 'compiled'),
    };
    await Promise.all(
      this.slots.map(async (slot) => {
        const port = await freePort();
        this.metricsPorts.set(slot.name, port);
        await slot.start({ ...env, TIDEMARK_METRICS_LISTEN: `127.0.0.1:${port}` });
      }),
    );
  }

  /** Processes by role, servers and whoever measures among them. */
  async members(): Promise<Members> {
    const members = new Map<string, readonly number[]>();
    for (const role of ['coordinator', 'worker', 'compactor'] as const) {
      const pids = this.slots.filter((slot) => slot.role === role).map(({ pid }) => pid);
      members.set(
        role,
        pids.filter((pid) => pid !== undefined),
      );
    }
    const { kafka, redis, postgres } = this.#servers!;
    members.set('kafka', await familyNamed(path.join(kafka.folder, 'server.properties')));
    members.set('postgres', await familyNamed(path.join(postgres.folder, 'data')));
    members.set('redis', await familyNamed(`redis-server 127.0.0.1:${new URL(redis.address).port}`));
    members.set('measuring', [process.pid]);
    return members;
  }

  /** Ends the processes, the last time in an orderly way. */
  async endProcesses(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.terminate()));
    await Promise.all(this.slots.map((slot) => slot.close()));
  }

  /** Ends everything. Harmless when repeated. */
  async close(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.close()));
    await this.#host?.close();
    this.#host = undefined;
    await Promise.all(Object.values(this.#servers ?? {}).map((server) => server.stop()));
    await this.#ledger?.stop();
  }

  /** Kills the processes without waiting; servers and ledger end with this process by themselves. */
  killNow(): void {
    for (const slot of this.slots) slot.killNow();
  }

  get #env(): Record<string, string> {
    const { kafka, redis, postgres } = this.#servers!;
    const partitions = String(Math.ceil(this.#options.liveCount * PARTITIONS_PER_LIVE));
    return {
      TIDEMARK_KAFKA_BROKERS: kafka.address,
      TIDEMARK_REDIS_URL: redis.address,
      TIDEMARK_POSTGRES_URL: postgres.address,
      TIDEMARK_TOPIC: TOPIC,
      TIDEMARK_PARTITIONS: partitions,
      TIDEMARK_PARTITIONS_MAX: partitions,
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_ARCHIVE_URL: `file://${path.join(this.#options.folder, 'archive')}`,
      TIDEMARK_HOT: HOT,
    };
  }
}

/** From now on the ledger answers every call, and quickly: what is measured here is what is ours. */
async function calm(port: number): Promise<void> {
  const ledger = new LedgerClient(port);
  await ledger.calm();
  ledger.close();
}

/** So that what was trimmed leaves the broker's disk: see `BROKER_FILE_BYTES`. */
async function keepBrokerFilesSmall(broker: string): Promise<void> {
  const admin = new Kafka({ clientId: 'bench-load', brokers: [broker], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const resource = { type: ConfigResourceTypes.TOPIC, name: TOPIC };
    const described = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
    const own = described.resources[0]!.configEntries.filter(({ isDefault, configSource }) =>
      configSource === undefined ? !isDefault : Number(configSource) === 1,
    );
    // This request replaces all settings of the topic, so those that it has are given again.
    const configEntries = [
      ...own.map(({ configName, configValue }) => ({ name: configName, value: configValue })),
      { name: 'segment.bytes', value: String(BROKER_FILE_BYTES) },
    ];
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
  } finally {
    await admin.disconnect();
  }
}
