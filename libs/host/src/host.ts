/** Owns a set of opened ports with what runs on them, and the order in which they are let go. */

import { uuidv7 } from '@tidemark/core';
import type { Embedder } from '@tidemark/memory';
import { Client, Coordinator, LamportClock, type Ports, Worker, type WorkerOptions } from '@tidemark/runtime';
import { startMemoryIndex } from './memory-index.ts';

export interface HostRole {
  /** Told of every failure that was outlived; for logs. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

export interface WorkerRole extends HostRole, Pick<WorkerOptions, 'definitions' | 'concurrency'> {
  readonly onProgress?: WorkerOptions['onProgress'] | undefined;
  readonly onResume?: WorkerOptions['onResume'] | undefined;
  readonly onDelta?: WorkerOptions['onDelta'] | undefined;
}

export interface HostOptions {
  /** Largest size of the pool of partitions. */
  readonly partitionsMax?: number | undefined;
  /** Finds memories by meaning; null or absent: by words alone. */
  readonly embedder?: Embedder | null | undefined;
}

/** One process on one set of ports; the ports are closed with it. */
export class Host {
  readonly ports: Ports;
  readonly client: Client;
  readonly #lamport = new LamportClock();
  readonly #closePorts: () => Promise<void>;
  readonly #embedder: Embedder | null;
  #index: { end(): Promise<void> } | undefined;
  #coordinator: Coordinator | undefined;
  #worker: Worker | undefined;
  #closed: Promise<void> | undefined;

  constructor(ports: Ports, closePorts: () => Promise<void>, { partitionsMax, embedder = null }: HostOptions = {}) {
    this.ports = ports;
    this.#closePorts = closePorts;
    this.#embedder = embedder;
    this.client = new Client({ ports, lamport: this.#lamport, partitionsMax, embedder });
  }

  /** Projects, dispatches, revokes and fires timers from now on. When it can't start, the host is closed. */
  async startCoordinator(role: HostRole = {}): Promise<Coordinator> {
    const { clock, prng } = this.ports;
    const name = `coordinator-${uuidv7(clock.nowMs(), prng.bytes(10))}`;
    this.#coordinator = new Coordinator({
      ports: this.ports,
      lamport: this.#lamport,
      name,
      ...(role.onError === undefined ? {} : { onError: role.onError }),
    });
    await this.#orClose(this.#coordinator.start());
    if (this.#embedder !== null) this.#index = startMemoryIndex(this.ports, this.#embedder, role.onError);
    return this.#coordinator;
  }

  /** What can't start leaves nothing open. */
  async #orClose(starting: Promise<void>): Promise<void> {
    try {
      await starting;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Runs workflows of these definitions from now on. When it can't start, the host is closed. */
  async startWorker(role: WorkerRole): Promise<Worker> {
    const { onError, onProgress, onResume, onDelta, definitions, concurrency } = role;
    this.#worker = new Worker({
      ports: this.ports,
      lamport: this.#lamport,
      definitions,
      concurrency,
      ...(onError === undefined ? {} : { onError }),
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(onResume === undefined ? {} : { onResume }),
      ...(onDelta === undefined ? {} : { onDelta }),
    });
    await this.#orClose(this.#worker.start());
    return this.#worker;
  }

  /** Hands work over (steps under way have `drainMs`), then lets everything go. Harmless when repeated. */
  close(drainMs = 0): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    await this.#worker?.stop(drainMs);
    await this.#index?.end();
    await this.#coordinator?.stop();
    this.client.close();
    await this.#closePorts();
  }
}
