/** Owns a set of opened ports with what runs on them, and the order in which they are closed. */

import { ConfigError, isoTime, uuidv7, type WorkflowId } from '@tidemark/core';
import type { Embedder } from '@tidemark/memory';
import type { SegmentRow } from '@tidemark/ports';
import {
  type Admission,
  bulkHost,
  Client,
  Compactor,
  type CompactorPolicy,
  Coordinator,
  type Demand,
  type ForgetCertificate,
  type ForgetRequest,
  forget,
  type Health,
  LamportClock,
  Pace,
  type Pool,
  type Ports,
  QueuePauses,
  type RetentionPolicy,
  scheduleHost,
  type TraceSink,
  Worker,
  type WorkerOptions,
} from '@tidemark/runtime';
import type { TraceSettings } from '@tidemark/traces';
import { type Keys, keysMissing } from './keys.ts';
import { type HostRole, liveTraces } from './live-traces.ts';
import { startMemoryIndex } from './memory-index.ts';
import { type Reach, startReach } from './reach.ts';
import { buildOf } from './source-build.ts';
import type { Tiers } from './tiers.ts';

/** Bytes that a compactor moves in a second at most, so that commits keep their pace. A fleet that writes more has more compactors. */
export const COMPACTOR_BYTES_PER_S = 32_000_000;

export interface CoordinatorRole extends HostRole {
  /** Pools whose demand it reports; default: one of all workers. */
  readonly pools?: readonly Pool[] | undefined;
  /** Draws traces; default: where the host exports them to. */
  readonly traces?: TraceSink | undefined;
}

export interface WorkerRole extends HostRole, Pick<WorkerOptions, 'definitions' | 'concurrency'> {
  readonly onResume?: WorkerOptions['onResume'] | undefined;
  readonly onDelta?: WorkerOptions['onDelta'] | undefined;
  /** What its deployer calls the code, such as an image with its tag; the digest of the workflows' code is added where it counts. */
  readonly build?: string | undefined;
}

export interface HostOptions {
  /** Largest size of the pool of partitions. */
  readonly partitionsMax?: number | undefined;
  /** Absent: any number of workflows may be live. */
  readonly admission?: Admission | undefined;
  /** Finds memories by meaning; null or absent: by words alone. */
  readonly embedder?: Embedder | null | undefined;
  /** Absent: history stays in the log. */
  readonly tiers?: Tiers | undefined;
  /** Absent: nothing is encrypted. */
  readonly keys?: Keys | undefined;
  /** Absent: fields that are marked as secret can neither be written nor read. */
  readonly secrets?: Keys | undefined;
  /** Retention of archived history of tenants without a policy of their own; absent: 90 days warm, and kept forever. */
  readonly retention?: RetentionPolicy | undefined;
  /** Where the coordinator exports traces to; absent: nowhere. */
  readonly traces?: TraceSettings | undefined;
}

export interface CompactorRole extends HostRole {
  readonly policy: CompactorPolicy;
  /** Default `COMPACTOR_BYTES_PER_S`. */
  readonly paceBytesPerSecond?: number | undefined;
  readonly onSegment?: ((segment: SegmentRow) => void) | undefined;
}

/** One process on one set of ports; the ports are closed with it. */
export class Host {
  readonly ports: Ports;
  readonly client: Client;
  readonly tiers: Tiers | undefined;
  readonly keys: Keys | undefined;
  readonly secrets: Keys | undefined;
  readonly #lamport = new LamportClock();
  readonly #held: QueuePauses;
  readonly #closePorts: () => Promise<void>;
  readonly #embedder: Embedder | null;
  readonly #retention: RetentionPolicy | undefined;
  readonly #traces: TraceSettings | undefined;
  #index: { end(): Promise<void> } | undefined;
  #coordination: { readonly coordinator: Coordinator; readonly started: Promise<void> } | undefined;
  #worker: Worker | undefined;
  #compactor: Compactor | undefined;
  #reach: Reach | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    ports: Ports,
    closePorts: () => Promise<void>,
    { partitionsMax, admission, embedder = null, tiers, keys, secrets, retention, traces }: HostOptions = {},
  ) {
    this.ports = ports;
    this.#held = new QueuePauses(ports);
    this.#closePorts = closePorts;
    this.#embedder = embedder;
    this.tiers = tiers;
    this.keys = keys;
    this.secrets = secrets;
    this.#retention = retention;
    this.#traces = traces;
    const client = { ports, lamport: this.#lamport, partitionsMax, admission, embedder, keys: keys?.workflows };
    this.client = new Client(client);
  }

  /**
   * Forgets a workflow or a user for good: destroys their keys. Throws what `forget` of the runtime throws, and `ConfigError`
   * (`keys-missing`): nothing is encrypted here.
   */
  forget(request: ForgetRequest): Promise<ForgetCertificate> {
    const { store, clock } = this.ports;
    // Destroying uses the store, which has the keys of histories and of secret fields.
    const keys = this.keys ?? this.secrets;
    if (keys === undefined) throw keysMissing();
    const now = (): string => isoTime(clock.nowMs());
    return forget({ store, keys: keys.data, keyStore: keys.store, memory: this.client.memory, now }, request);
  }

  /** Demand for each pool of workers; undefined: no coordinator runs here. */
  get demand(): Demand | undefined {
    return this.#coordination?.coordinator.demand;
  }

  /** Checkpoints of a workflow that the worker here, if there is one, has staged. */
  pendingCheckpoints(workflow: WorkflowId): ReturnType<Worker['pendingCheckpoints']> {
    return this.#worker?.pendingCheckpoints(workflow) ?? [];
  }

  /** Starts projecting, dispatching, revoking and firing timers; one that was started runs on. When it can't start, the host is closed. */
  async startCoordinator(role: CoordinatorRole = {}): Promise<Coordinator> {
    if (this.#coordination === undefined || this.#coordination.coordinator.isStopped) {
      const coordinator = this.#newCoordinator(role);
      this.#coordination = { coordinator, started: this.#started(coordinator, role) };
    }
    const { coordinator, started } = this.#coordination;
    await started;
    return coordinator;
  }

  #newCoordinator(role: CoordinatorRole): Coordinator {
    const { clock, prng } = this.ports;
    return new Coordinator({
      ports: this.ports,
      lamport: this.#lamport,
      name: `coordinator-${uuidv7(clock.nowMs(), prng.bytes(10))}`,
      pauses: this.#held,
      pools: role.pools,
      ...(role.onError === undefined ? {} : { onError: role.onError }),
      traces: role.traces ?? (this.#traces && liveTraces(this.ports, this.#traces, role.onError)),
    });
  }

  async #started(coordinator: Coordinator, role: CoordinatorRole): Promise<void> {
    await this.#index?.end();
    await this.#orClose(coordinator.start());
    if (this.#embedder !== null) this.#index = startMemoryIndex(this.ports, this.#embedder, role.onError);
  }

  /** A compactor that is not started yet: call `start`, or `pass`. Throws `ConfigError` (`archive-missing`, `retention-invalid`). */
  compactor({ policy, paceBytesPerSecond = COMPACTOR_BYTES_PER_S, onError, onSegment }: CompactorRole): Compactor {
    if (this.tiers === undefined) {
      throw new ConfigError('archive-missing', 'There is no archive to write to: set TIDEMARK_ARCHIVE_URL.');
    }
    const { clock, prng } = this.ports;
    this.#compactor = new Compactor({
      ports: { ...this.ports, log: this.tiers.hot },
      archive: this.tiers.archive,
      deletions: this.client.memory,
      blobs: this.tiers.blobs,
      policy: this.#retention === undefined ? policy : { retention: this.#retention, ...policy },
      pace: new Pace(clock, paceBytesPerSecond),
      name: `compactor-${uuidv7(clock.nowMs(), prng.bytes(10))}`,
      onError: onError ?? (() => {}),
      ...(onSegment === undefined ? {} : { onSegment }),
    });
    return this.#compactor;
  }

  /** A failed start leaves nothing open. */
  async #orClose(starting: Promise<void>): Promise<void> {
    try {
      await starting;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Starts running workflows of these definitions. When it can't start, the host is closed. */
  async startWorker(role: WorkerRole): Promise<Worker> {
    const { onError, onResume, onDelta, definitions, concurrency } = role;
    const build = await buildOf(definitions, role.build);
    this.#worker = new Worker({
      ports: this.ports,
      lamport: this.#lamport,
      definitions,
      ...(build !== undefined && { build }),
      concurrency,
      schedules: scheduleHost(this.client, this.ports.clock),
      bulk: bulkHost(this.client, this.ports.store, definitions),
      pauses: this.#held,
      ...(onError === undefined ? {} : { onError }),
      ...(onResume === undefined ? {} : { onResume }),
      ...(onDelta === undefined ? {} : { onDelta }),
    });
    await this.#orClose(this.#worker.start());
    return this.#worker;
  }

  /**
   * Health of what was started here, and of the log, and of the store where it is needed: a worker commits without it. The first call
   * begins to check them; they are not ready until they answered.
   */
  health(): Health {
    this.#reach ??= startReach({ ...this.ports, log: this.tiers?.hot ?? this.ports.log });
    const roles = [this.#coordination?.coordinator, this.#worker, this.#compactor].flatMap(
      (role) => role?.health() ?? [],
    );
    return {
      ready: [
        ...this.#reach.checks(this.#worker !== undefined && roles.length === 1 ? ['log'] : ['log', 'store']),
        ...roles.flatMap(({ ready }) => ready),
      ],
      live: roles.flatMap(({ live }) => live),
    };
  }

  /** Hands work over (steps under way have `drainMs`), then closes everything. Harmless when repeated. */
  close(drainMs = 0): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    // Not awaited: it may wait for an unreachable server, and nothing is handed over meanwhile.
    void this.#reach?.stop();
    await this.#worker?.stop(drainMs);
    await this.#compactor?.stop();
    await this.#index?.end();
    await this.#coordination?.coordinator.stop();
    this.client.close();
    await this.#closePorts();
    this.keys?.data.clear();
    this.secrets?.data.clear();
  }
}
