/** Owns the set of ports that a process of Tidemark runs on, and the process's Lamport clock. */

import type { SealingKey } from '@tidemark/codec';
import {
  LAMPORT_ZERO,
  type Lamport,
  type Offset,
  type Partition,
  type PartitionState,
  type TenantId,
  tick,
  type UnavailableError,
  witness,
} from '@tidemark/core';
import type { Recalled, RecallQuery } from '@tidemark/memory';
import type {
  Clock,
  Digest,
  EventLog,
  HintBus,
  JobQueue,
  Liveness,
  Prng,
  ProjectionStore,
  RecordOwner,
  Telemetry,
  WatchBus,
} from '@tidemark/ports';
import type { ArchivedWorkflow } from '@tidemark/segments';
import type { SecretPolicy } from './secret-guard.ts';

/** What long-term memory gives a workflow. Never throws for want of a model. */
export interface SessionMemory {
  /** For its bundles when it begins: what earlier sessions of the user left that fits the query, and what is known; absent: nothing. */
  inject(about: {
    readonly tenant: TenantId;
    readonly session: string | undefined;
    readonly user: string | undefined;
    readonly domains: readonly string[];
    readonly query: string;
  }): Promise<{ readonly continuation?: readonly string[]; readonly user?: readonly string[] }>;
  /** What fits a step's question. */
  recall(
    request: RecallQuery & { readonly tenant: TenantId; readonly query: string; readonly signal: AbortSignal },
  ): Promise<Recalled>;
}

/** History that the log no longer has, as whoever folds needs it (archive/recalls.ts). */
export interface ColdHistory {
  /** Whether it is too early to look for what the partition lacks. */
  isCold(partition: Partition): boolean;
  /**
   * Asks for the partition's history from that offset on. Returns what is to be told (`history-recalled`); undefined where that was told
   * before. Throws the given error where no segment is there.
   */
  ask(partition: Partition, from: Offset, error: unknown): Promise<UnavailableError | undefined>;
  /** The partition behind a stretch that was deleted for good, and whose workflows it held; undefined: no segment begins there. */
  behind(partition: Partition, from: Offset): Promise<DeletedStretch | undefined>;
}

export interface DeletedStretch {
  readonly after: PartitionState;
  readonly workflows: readonly ArchivedWorkflow[];
}

/** Keys of secret fields: one seals, any of them may have sealed. Throws for want of the right to them, or of their provider. */
export interface FieldKeys {
  all(owner: RecordOwner): Promise<readonly [SealingKey, ...SealingKey[]]>;
}

export interface Ports {
  readonly log: EventLog;
  readonly store: ProjectionStore;
  readonly queue: JobQueue;
  readonly hints: HintBus;
  readonly liveness: Liveness;
  /** Absent: nobody can watch steps under way from elsewhere. */
  readonly watch?: WatchBus | undefined;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** History that `log` reads from segments; absent: all of it is in the log. */
  readonly cold?: ColdHistory | undefined;
  /** What seals and opens fields that schemas mark as secret; absent: this process can do neither. */
  readonly secrets?: FieldKeys | undefined;
  /** What is done about secrets in what workflows store; absent: they are counted, and stored as they are. */
  readonly secretPolicy?: SecretPolicy | undefined;
  /** Absent: nothing is injected, and no step can recall. */
  readonly memory?: SessionMemory | undefined;
}

/** One a process: what it writes is greater than all it has seen. */
export class LamportClock {
  #seen: Lamport = LAMPORT_ZERO;

  witness(other: Lamport): void {
    this.#seen = witness(this.#seen, other);
  }

  stamp(): Lamport {
    this.#seen = tick(this.#seen);
    return this.#seen;
  }
}
