/** Owns the set of ports that a process of Tidemark runs on, and the process's Lamport clock. */

import { LAMPORT_ZERO, type Lamport, tick, witness } from '@tidemark/core';
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
} from '@tidemark/ports';

export interface Ports {
  readonly log: EventLog;
  readonly store: ProjectionStore;
  readonly queue: JobQueue;
  readonly hints: HintBus;
  readonly liveness: Liveness;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly digest: Digest;
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
