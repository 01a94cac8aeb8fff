/**
 * Owns a whole Tidemark in memory for the runtime's own tests, with time that only the test moves: one log, one store, one
 * coordinator and as many workers as a test starts. Must not be used outside tests.
 */

import type { WorkflowId } from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import type { Definition, StartOptions } from '@tidemark/runtime';
import { Client, Coordinator, LamportClock, Worker, type WorkerOptions } from '@tidemark/runtime';
import { PROJECTION_GATHERING } from '@tidemark/runtime/internals';
import { type SimulatedPorts, simulatedPorts } from './simulated-ports.ts';

export class SimulatedWorld {
  readonly ports: SimulatedPorts;
  readonly client: Client;
  readonly coordinator: Coordinator;
  readonly errors: { readonly where: string; readonly error: unknown }[] = [];
  readonly #workers: Worker[] = [];

  constructor(log: EventLog, partitionCount: number) {
    this.ports = simulatedPorts(log, partitionCount);
    this.client = new Client({ ports: this.ports, lamport: new LamportClock(), partitionsMax: partitionCount });
    this.coordinator = new Coordinator({
      ports: this.ports,
      lamport: new LamportClock(),
      name: 'c1',
      onError: (where, error) => this.errors.push({ where, error }),
    });
  }

  async worker(definitions: readonly Definition[], options: Partial<WorkerOptions> = {}): Promise<Worker> {
    const worker = new Worker({
      ports: this.ports,
      lamport: new LamportClock(),
      definitions,
      concurrency: 100,
      onError: (where, error) => this.errors.push({ where, error }),
      ...options,
    });
    this.#workers.push(worker);
    await worker.start();
    return worker;
  }

  /** Runs until the rows have everything that the log has now. */
  async projected(): Promise<void> {
    await this.ports.clock.run(PROJECTION_GATHERING.maxMs);
  }

  /** Starts a workflow; its id. */
  async start(definition: Definition, input: unknown = null, options: StartOptions = { id: 'w' }): Promise<WorkflowId> {
    return (await this.client.start(definition, input as never, options)).id;
  }

  status(workflow: WorkflowId): string | undefined {
    return this.ports.store.rows.get(workflow)?.stream.status;
  }

  /** Runs until the workflow has this status; the milliseconds that took. */
  until(workflow: WorkflowId, status: string, maxMs = 60_000): Promise<number> {
    return this.ports.clock.runUntil(() => this.status(workflow) === status, maxMs);
  }

  async close(): Promise<void> {
    const closing = [...this.#workers.map((worker) => worker.stop(0)), this.coordinator.stop()];
    await this.ports.clock.run(10_000);
    await Promise.all(closing);
  }
}
