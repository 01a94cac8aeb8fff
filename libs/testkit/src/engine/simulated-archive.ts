/**
 * Owns one partition with workflows that have ended, an archive in memory and compactors, for the runtime's own tests; with a store of
 * large payloads where the test gives one. Must not be used outside tests.
 */

import {
  type Json,
  type Lamport,
  type Offset,
  type Partition,
  type Position,
  type TenantId,
  workflowId,
} from '@tidemark/core';
import { type BlobStore, type EventLog, type LogRecord, type ObjectStore, RANGE_COUNT } from '@tidemark/ports';
import {
  Archive,
  type ArchiveVerdict,
  BlobEncoding,
  Blobs,
  ColdReads,
  Compactor,
  type CompactorPolicy,
  type Deletion,
  EncodedLog,
  LamportClock,
  memoryWorkflow,
  Pace,
  type PassReport,
  Restorer,
  TieredLog,
  tieredStore,
  type VerifyOptions,
  verifyArchive,
} from '@tidemark/runtime';
import {
  deletionsOf,
  deletionWrite,
  drawUpFork,
  memoryDefinition,
  Projector,
  Starter,
} from '@tidemark/runtime/internals';
import { definitionOf, P0, TENANT } from './simulated-definition.ts';
import { quiet, type SimulatedPorts, simulatedPorts } from './simulated-ports.ts';
import { claimedRun } from './simulated-run.ts';

/** Bytes above which payloads are blobs, if there is a store: the openings of workflows with long inputs. */
const INLINE_MAX_BYTES = 1_500;

/** How long compactors leave closed workflows, in milliseconds. */
export const HOT_MS = 1_000;

const definition = definitionOf({
  steps: {
    a: () => ({ next: [{ step: 'b', input: 'x'.repeat(300) }] }),
    b: () => ({ done: { said: 'y'.repeat(300) } }),
  },
});

/** A log in memory, as the testkit has it. */
interface MemoryLog extends EventLog {
  store(partition: Partition, records: readonly LogRecord[]): Offset;
}

export class SimulatedArchive<Objects extends ObjectStore> {
  log: MemoryLog;
  ports: SimulatedPorts;
  readonly objects: Objects;
  readonly cold: Objects;
  readonly #newLog: () => MemoryLog;
  readonly projector: Projector;
  errors: unknown[] = [];
  /** Trims of the log. */
  readonly deletions: { readonly tenant: TenantId; readonly deletion: Deletion }[] = [];
  /** Runs before a trim; it may fail, or do something. */
  beforeDeletion: () => Promise<void> = async () => {};
  readonly #compactors: Compactor[] = [];
  readonly #blobs: BlobStore | undefined;

  /** `newLog`: an empty log with one partition; `newObjects`: an empty store of that name; `blobs`: where large payloads go. */
  constructor(newLog: () => MemoryLog, newObjects: (place: string) => Objects, blobs?: BlobStore) {
    this.#newLog = newLog;
    this.#blobs = blobs;
    this.log = newLog();
    this.objects = newObjects('objects');
    this.cold = newObjects('cold');
    this.ports = this.#portsOf(this.log);
    this.projector = new Projector({
      ports: { ...this.ports, log: this.tiered(), cold: this.recalls() },
      lamport: new LamportClock(),
      onApplied: () => {},
      onError: (error) => this.errors.push(error),
    });
    this.projector.own(Array.from({ length: RANGE_COUNT }, (_, range) => range));
    this.projector.start();
  }

  #portsOf(log: MemoryLog): SimulatedPorts {
    const ports = simulatedPorts(log, 1, { read: (...of) => this.tiered().read(...of) });
    // A compactor that died holds no range for as long as it would live.
    ports.store.ranges = Array.from({ length: RANGE_COUNT }, (_, range) => range);
    return ports;
  }

  /** As another process has them. */
  blobs(): Blobs | undefined {
    return this.#blobs && new Blobs(this.#blobs);
  }

  #viewOf(log: EventLog): EventLog {
    const blobs = this.blobs();
    return blobs === undefined
      ? log
      : new EncodedLog(log, new BlobEncoding({ blobs, clock: this.ports.clock, inlineMaxBytes: INLINE_MAX_BYTES }));
  }

  /** The same archive, and a rebuilt log of the same name with these records; its rows hold all of it. */
  replaceLog(values: readonly Uint8Array[]): void {
    this.log = this.#newLog();
    this.ports = this.#portsOf(this.log);
    this.log.store(
      P0,
      values.map((value) => ({ value, type: 't' })),
    );
    this.ports.store.partitions.get(P0)!.next = values.length as Offset;
  }

  /** As another process sees it: nothing is cached. */
  archive(): Archive {
    return new Archive({ warm: this.objects, cold: this.cold });
  }

  recalls(): ColdReads {
    return new ColdReads({ archive: this.archive(), clock: this.ports.clock });
  }

  tiered(): EventLog {
    return this.#viewOf(new TieredLog(this.log, this.archive()));
  }

  store(): ReturnType<typeof tieredStore> {
    return tieredStore(this.ports.store, this.restorer());
  }

  restorer(): Restorer {
    return new Restorer({ ...this.ports, log: this.tiered() }, this.archive());
  }

  compactor(policy: Partial<CompactorPolicy> = {}, name = 'c'): Compactor {
    const compactor = new Compactor({
      ports: this.ports,
      archive: this.archive(),
      deletions: this,
      blobs: this.#blobs,
      policy: { hotMs: HOT_MS, segmentMinBytes: 1, ...policy },
      pace: new Pace(this.ports.clock, Number.POSITIVE_INFINITY),
      name,
      onError: (_, error) => this.errors.push(error),
    });
    this.#compactors.push(compactor);
    return compactor;
  }

  /** As events of another partition, whose rows are here at once: this log has none of them. */
  async deletes(tenant: TenantId, deletion: Deletion): Promise<void> {
    await this.beforeDeletion();
    this.deletions.push({ tenant, deletion });
    this.#reportDeletion(tenant, deletion);
  }

  #reportDeletion(tenant: TenantId, deletion: Deletion): void {
    const { value, words = '', source = '', ...entry } = deletionWrite(tenant, deletion);
    const written = { ...entry, words, source, value: JSON.stringify(value), atMs: 0, isForgotten: false };
    const place = { position: 1 as Position, ordinal: 0, lamport: this.deletions.length as Lamport };
    this.ports.store.memory.put([{ ...written, ...place, tenant, workflow: workflowId('~memory:retention') }]);
  }

  /** An audit as a reader of the events has it. */
  verify(options: Omit<VerifyOptions, 'deletions'> = {}): Promise<ArchiveVerdict> {
    const deletions = async (tenant: TenantId) => {
      const own = this.deletions.filter((reported) => reported.tenant === tenant).map(({ deletion }) => deletion);
      return deletionsOf(own as unknown as readonly Json[]);
    };
    return verifyArchive(this.log, this.archive(), { ...options, deletions });
  }

  pass(policy?: Partial<CompactorPolicy>): Promise<PassReport> {
    return this.compactor(policy).pass();
  }

  /** Where the log begins. */
  async startOf(): Promise<number> {
    return (await this.log.bounds([P0])).get(P0)!.start;
  }

  /** Every record from there on, from whichever tier has it. */
  async valuesFrom(from = 0): Promise<readonly Buffer[]> {
    const values: Buffer[] = [];
    const view = this.tiered();
    for (;;) {
      const [result] = await view.read([{ partition: P0, from: (from + values.length) as Offset }]);
      if (result!.records.length === 0) return values;
      values.push(...result!.records.map(({ value }) => Buffer.from(value)));
    }
  }

  /** Runs a workflow to its end, or leaves it open; its rows are there then. */
  async run(
    id: string,
    options: { readonly tenant?: string; readonly ends?: boolean; readonly reported?: string } = {},
  ): Promise<void> {
    const { tenant = TENANT, ends = true, reported } = options;
    const input = { id, ...(reported !== undefined && { reported }) };
    const ports = { ...this.ports, log: this.#viewOf(this.log) };
    const starter = new Starter({ ports, lamport: new LamportClock() });
    await starter.start({ definition, input, workflow: workflowId(id), tenant: tenant as TenantId });
    if (ends) await this.finish(id);
    else await this.projected();
  }

  /** Opens the stream of a subject's memory, outside of workflows. */
  async remember(subject: string): Promise<void> {
    const starter = new Starter({ ports: this.ports, lamport: new LamportClock() });
    const workflow = memoryWorkflow(this.ports.digest, TENANT, subject);
    await starter.start({ definition: memoryDefinition, input: { subject }, workflow, tenant: TENANT });
    await this.projected();
  }

  /** Runs the open workflow to its end. */
  async finish(holder: string): Promise<void> {
    const claimed = await claimedRun(await this.#whole(), definition, { ports: this.ports, holder });
    await claimed.runner.run();
    await this.projected();
  }

  /** Opens a fork, as a client does that sees every tier. */
  async fork(of: string, at: number, id: string): Promise<void> {
    const lamport = new LamportClock();
    const ports = { ...this.ports, log: this.tiered(), store: this.store() };
    const options = { at, effects: 'replay', by: 'ann', id } as const;
    const { request } = await drawUpFork({ ports, lamport }, workflowId(of), options);
    await new Starter({ ports: this.ports, lamport }).open(request);
    await this.projected();
  }

  /** A log in memory with all of the history at once, from which claims in these tests are made. */
  async #whole(): Promise<EventLog> {
    const whole = this.#newLog();
    whole.store(
      P0,
      (await this.valuesFrom()).map((value) => ({ value, type: 't' })),
    );
    return whole;
  }

  async projected(): Promise<void> {
    const end = (await this.log.bounds([P0])).get(P0)!.end;
    for (;;) {
      this.projector.hint([P0]);
      await quiet();
      if (this.ports.store.partitions.get(P0)?.next === end) return;
    }
  }

  /** Rows are lost, and rebuilt from all tiers. */
  async rebuild(): Promise<void> {
    this.ports.store.drop();
    for (const { tenant, deletion } of this.deletions) this.#reportDeletion(tenant, deletion);
    this.projector.forgetAll();
    const rebuildTo = (await this.log.bounds([P0])).get(P0)!.end;
    await this.ports.store.addPartitions([{ partition: P0, start: 0 as Offset, rebuildTo }]);
    await this.projected();
    await this.ports.store.markReady();
  }

  async close(): Promise<void> {
    for (const compactor of this.#compactors) await compactor.stop();
    await this.projector.stop();
  }
}
