/**
 * Owns the processes of the run that kills compactors, their settings, the bucket of their archive and the ledger, from start to end. The
 * servers are given to it. A process is killed and started again in its place (slot.ts); all of them reach the servers directly.
 */

import path from 'node:path';
import type { CompactorPolicy } from '@tidemark/runtime';
import { freshTopicName, type NativeServer } from '@tidemark/testkit/servers';
import { type Env, makeArchive } from '../bench/archive-bucket.ts';
import {
  CHAOS_HOT_MS,
  CHAOS_PERIOD_MS,
  CHAOS_SEGMENT_MAX_BYTES,
  CHAOS_SEGMENT_MIN_BYTES,
  CHAOS_SEGMENT_WAIT_MS,
  COMPACTOR_PARTITIONS,
  COMPACTORS,
} from './compactor-limits.ts';
import { StepCounts } from './compactor-steps.ts';
import { type LedgerProcess, startLedger } from './ledger-process.ts';
import { DRAIN_MS } from './limits.ts';
import { Slot } from './slot.ts';

export interface CompactorServers {
  /** `host:port`. */
  readonly kafka: string;
  readonly redis: string;
  readonly postgres: string;
  /** Started by this process, which may therefore let it stand still. */
  readonly s3: NativeServer;
}

export interface CompactorFleetOptions {
  readonly servers: CompactorServers;
  readonly seed: number;
  /** Gets the processes' logs, the ledger's file and the witness's. */
  readonly folder: string;
  /** A guard that compactors run without (see test/simulation/guards.ts): the control. */
  readonly without?: string | undefined;
  readonly onSurprise: (what: string) => void;
}

const SIMULATION = path.resolve(import.meta.dirname, '../simulation');
const POLICY: CompactorPolicy = {
  hotMs: CHAOS_HOT_MS,
  segmentMinBytes: CHAOS_SEGMENT_MIN_BYTES,
  segmentMaxBytes: CHAOS_SEGMENT_MAX_BYTES,
  segmentWaitMs: CHAOS_SEGMENT_WAIT_MS,
  periodMs: CHAOS_PERIOD_MS,
};

export class CompactorFleet {
  readonly coordinator: Slot;
  readonly compactors: readonly Slot[];
  readonly slots: readonly Slot[];
  readonly steps = new StepCounts();
  readonly topic = freshTopicName('compactor');
  readonly witnessFile: string;
  readonly ledgerFile: string;
  readonly #options: CompactorFleetOptions;
  #archive: Env = {};
  #ledger: LedgerProcess | undefined;

  constructor(options: CompactorFleetOptions) {
    const { folder, onSurprise, without } = options;
    this.#options = options;
    this.witnessFile = path.join(folder, 'witness.json');
    this.ledgerFile = path.join(folder, 'ledger.jsonl');
    this.coordinator = new Slot('coordinator', 0, folder, onSurprise);
    const guard = without === undefined ? [] : ['--import', path.join(SIMULATION, 'without-guard.ts')];
    const args = [
      ...guard,
      path.join(import.meta.dirname, 'compactor-process.ts'),
      ...[this.witnessFile, JSON.stringify(POLICY)],
      ...(without === undefined ? [] : ['--without', without]),
    ];
    this.compactors = Array.from({ length: COMPACTORS }, (_, index) => {
      const place = `compactor-${index}`;
      const [onLine, onGone] = [(line: string) => this.steps.hear(place, line), () => this.steps.ended(place)];
      return new Slot('compactor', index, folder, onSurprise, { args, restartDelayMs: 0, onLine, onGone });
    });
    this.slots = [this.coordinator, new Slot('worker', 0, folder, onSurprise), ...this.compactors];
  }

  get ledgerPort(): number {
    return this.#ledger?.port ?? 0;
  }

  /** The database that every process uses; dropped and rebuilt amid the run. */
  get databaseUrl(): URL {
    return this.#database('rows');
  }

  /** Of the same log and archive, and another database. */
  get freshEnv(): Record<string, string> {
    return { ...this.env, TIDEMARK_POSTGRES_URL: this.#database('fresh').href };
  }

  get databaseNames(): readonly string[] {
    return [this.databaseUrl, this.#database('fresh')].map(({ pathname }) => pathname.slice(1));
  }

  get env(): Record<string, string> {
    const { servers } = this.#options;
    return {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: this.databaseUrl.href,
      TIDEMARK_TOPIC: this.topic,
      TIDEMARK_PARTITIONS: String(COMPACTOR_PARTITIONS),
      TIDEMARK_PARTITIONS_MAX: String(COMPACTOR_PARTITIONS),
      TIDEMARK_ENCRYPTION: 'off',
      ...this.#archive,
    };
  }

  /** What there must be before anything is opened. */
  async prepare(): Promise<void> {
    const { servers, seed } = this.#options;
    this.#archive = await makeArchive(servers.s3, this.topic);
    this.#ledger = await startLedger(this.ledgerFile, seed);
  }

  /** Resolves when every process is up. */
  async start(): Promise<void> {
    const env = {
      ...this.env,
      TIDEMARK_WORKFLOWS: './test/chaos/workload.ts',
      TIDEMARK_DRAIN_MS: String(DRAIN_MS),
      TIDEMARK_CHAOS_LEDGER: String(this.ledgerPort),
      // A process that is started for the thousandth time need not be compiled again.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(this.#options.folder, 'compiled'),
    };
    await Promise.all(this.slots.map((slot) => slot.start(env)));
  }

  /** Ends the processes and the ledger. Harmless when repeated. */
  async close(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.close()));
    await this.#ledger?.stop();
  }

  /** Kills the processes without waiting. */
  killNow(): void {
    for (const slot of this.slots) slot.killNow();
  }

  #database(what: string): URL {
    const url = new URL(this.#options.servers.postgres);
    url.pathname = `/${this.topic.replaceAll('-', '_')}_${what}`;
    return url;
  }
}
