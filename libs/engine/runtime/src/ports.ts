/** Owns the set of ports that a process of Tidemark runs on, and the process's Lamport clock. */

import { LAMPORT_ZERO, type Lamport, type TenantId, tick, witness } from '@tidemark/core';
import type {
  Clock,
  Digest,
  EventLog,
  HintBus,
  JobQueue,
  Liveness,
  Prng,
  ProjectionStore,
  Telemetry,
  WatchBus,
} from '@tidemark/ports';
import type { Archive } from './archive.ts';
import type { WorkflowKeys } from './workflow-keys.ts';

/** What memory puts into the bundles of a workflow when it begins. */
export interface SessionMemory {
  /** What earlier sessions of the user left that matters to the query, and what is known of the user; absent: nothing. Never throws for want of a model. */
  inject(about: {
    readonly tenant: TenantId;
    readonly session: string | undefined;
    readonly user: string | undefined;
    readonly query: string;
  }): Promise<{ readonly continuation?: readonly string[]; readonly user?: readonly string[] }>;
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
  /** Where history is that `log` reads from segments; absent: all of it is in the log. */
  readonly archive?: Archive | undefined;
  /** What seals and opens fields that schemas mark as secret; absent: this process can do neither. */
  readonly secrets?: WorkflowKeys | undefined;
  /** Absent: nothing is injected. */
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
