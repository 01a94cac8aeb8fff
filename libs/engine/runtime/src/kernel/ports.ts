/** Owns the set of ports that a process of Tidemark runs on, and the process's Lamport clock. */

import type { SealingKey } from '@tidemark/codec';
import {
  LAMPORT_ZERO,
  type Lamport,
  type Offset,
  type Partition,
  type PartitionState,
  type RecoveryPolicy,
  type TenantId,
  tick,
  type UnavailableError,
  witness,
} from '@tidemark/core';
import type { Recalled, RecallQuery } from '@tidemark/memory';
import type {
  CallLimiter,
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

/** What long-term memory gives a workflow. It never throws when no model is available. */
export interface SessionMemory {
  /**
   * The memories for the bundles of a workflow that begins: what earlier sessions of the user left that fits the query, and what is known
   * of the user. An absent member means that there is nothing.
   */
  inject(about: {
    readonly tenant: TenantId;
    readonly session: string | undefined;
    readonly user: string | undefined;
    readonly domains: readonly string[];
    readonly query: string;
    /** The session is in the control arm: hand-overs alone, and nothing is recalled. */
    readonly isControl: boolean;
  }): Promise<{ readonly continuation?: readonly string[]; readonly user?: readonly string[] }>;
  /** The memories that fit a step's question. */
  recall(
    request: RecallQuery & { readonly tenant: TenantId; readonly query: string; readonly signal: AbortSignal },
  ): Promise<Recalled>;
}

/** History that the log no longer has, for code that folds (archive/cold-reads.ts). */
export interface ColdHistory {
  /** Whether the partition's cold history is still on its way, so that reading it now would be too early. */
  isCold(partition: Partition): boolean;
  /**
   * Requests the partition's history from that offset on. Returns the error to report (`history-recalled`), or undefined where it was
   * reported before. Throws the given error where no segment has that history.
   */
  ask(partition: Partition, from: Offset, error: unknown): Promise<UnavailableError | undefined>;
  /**
   * The state of the partition after a stretch that was deleted for good, and the workflows whose events it had; undefined where no segment
   * begins there.
   */
  behind(partition: Partition, from: Offset): Promise<DeletedStretch | undefined>;
}

export interface DeletedStretch {
  readonly after: PartitionState;
  readonly workflows: readonly ArchivedWorkflow[];
}

/**
 * Keys of secret fields: the first seals, and each of them may have sealed. Throws when the process lacks the right to them, or when their
 * provider is unavailable.
 */
export interface FieldKeys {
  all(owner: RecordOwner): Promise<readonly [SealingKey, ...SealingKey[]]>;
}

export interface Ports {
  readonly log: EventLog;
  readonly store: ProjectionStore;
  readonly queue: JobQueue;
  readonly hints: HintBus;
  readonly liveness: Liveness;
  /** Absent: running steps can't be watched from other processes. */
  readonly watch?: WatchBus | undefined;
  /** Absent: calls to the outside have no limits, and no circuit breaks. */
  readonly calls?: CallLimiter | undefined;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
  /** History that `log` reads from segments; absent: all of it is in the log. */
  readonly cold?: ColdHistory | undefined;
  /** Seals and opens fields that schemas mark as secret; absent: this process can do neither. */
  readonly secrets?: FieldKeys | undefined;
  /** The policy on secrets in what workflows store; absent: those of callers are counted, and all are stored as they are. */
  readonly secretPolicy?: SecretPolicy | undefined;
  /** How workflows are run again after crashes, where their definition doesn't say; absent: `DEFAULT_RECOVERY`. */
  readonly recovery?: RecoveryPolicy | undefined;
  /** Absent: nothing is injected, and no step can recall. */
  readonly memory?: SessionMemory | undefined;
}

/** One a process: each stamp is greater than every value witnessed before. */
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
