/**
 * Owns `testWorld`: a whole Tidemark in one process for users' tests, with time under control, effects that can be stubbed, and a worker
 * that dies exactly where the test says; another resumes, as in production. The runtime and the fold are the real ones; the log and the rows
 * are in memory, under the contracts of the real ones.
 */

import { decodeRecord } from '@tidemark/codec';
import {
  type Envelope,
  type EventType,
  InvalidError,
  type Json,
  type Partition,
  type Sequence,
  type TaskState,
  type WorkflowId,
} from '@tidemark/core';
import { Host } from '@tidemark/host';
import { type Clock, type EventLog, type LogRecord, noTelemetry, type RowStore, type Telemetry } from '@tidemark/ports';
import { createMemoryCalls, createMemoryHints, createMemoryLiveness, createMemoryQueue } from '@tidemark/queue-memory';
import {
  bulkHost,
  type CallEffect,
  type Client,
  type Coordinator,
  type Definition,
  type EffectDefinition,
  LamportClock,
  loggedStore,
  type Ports,
  type RebuiltCall,
  type Run,
  rebuildCalls,
  type SecretPolicy,
  type StartOptions,
  scheduleHost,
  sessionMemory,
  sha256Digest,
  systemClock,
  systemPrng,
  type TraceSink,
  Worker,
  type WorkerOptions,
} from '@tidemark/runtime';
import { tokenizerById } from '@tidemark/tokenizer';
import { SimulatedStore } from './engine/simulated-store.ts';
import { DEFAULT_TIMEOUT_MS } from './eventually.ts';
import { SimulatedLog } from './simulated-log.ts';

const PARTITIONS = 16;
const CONCURRENCY = 100;
const TASKS_MAX = 10_000;
const FAST_FORWARD_MS = 1_000;
const FAST_FORWARD_PERIOD_MS = 10;

/** Where the worker dies: once the log has the event, or just before it would, or just after an effect's call was made. */
export interface CrashPoint {
  readonly after?: EventType | 'call';
  readonly before?: EventType;
  /** Only at events of this operation. */
  readonly operation?: string;
  /** Only at events of this step. */
  readonly step?: string;
  /** In place of an event: at the so-maniest boundary, from 1: before and after each append of a worker, and after each call of an effect. */
  readonly boundary?: number;
}

export interface EffectCall {
  readonly request: Json;
  readonly key: string;
}

export interface TestWorldOptions {
  readonly workflows: readonly Definition[];
  /** Called for every failure that was survived. */
  readonly onError?: (where: string, error: unknown) => void;
  /** Called for each piece of a streamed answer. */
  readonly onDelta?: WorkerOptions['onDelta'];
  /** Receives metrics. */
  readonly telemetry?: Telemetry;
  /** What happens to secrets, where a definition doesn't say. */
  readonly secretPolicy?: SecretPolicy;
  /** Draws traces of each coordinator's life. */
  readonly traces?: (ports: Ports) => TraceSink;
}

type Stub = (request: never, context: { readonly key: string; readonly signal: AbortSignal }) => unknown;

/** Opens a world. Close it when the test ends. */
export async function testWorld(options: TestWorldOptions): Promise<TestWorld> {
  const store = new SimulatedStore();
  const world = new TestWorld(options, store);
  await world.begin();
  return world;
}

export class TestWorld {
  readonly #options: TestWorldOptions;
  readonly #host: Host;
  readonly #ports: Ports;
  readonly #stubs = new Map<string, Stub>();
  readonly #calls = new Map<string, EffectCall[]>();
  readonly #crashPoints: CrashPoint[] = [];
  #skippedMs = 0;
  /** Wakes all sleepers, so that they check the time again. */
  #skip = new AbortController();
  #isClosed = false;
  #worker: Worker | undefined;
  #coordinator: Coordinator | undefined;
  /** Ends the life of the current worker: its later writes never arrive. */
  #kill: (() => void) | undefined;
  #crashCount = 0;
  #boundaryCount = 0;

  constructor(options: TestWorldOptions, rows: RowStore) {
    this.#options = options;
    const log = new SimulatedLog(PARTITIONS);
    const store = loggedStore(rows, log);
    const clock: Clock = {
      ...systemClock,
      nowMs: () => Date.now() + this.#skippedMs,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
    this.#ports = {
      log,
      store,
      queue: createMemoryQueue(),
      hints: createMemoryHints(),
      liveness: createMemoryLiveness(),
      calls: createMemoryCalls({ monotonicMs: () => clock.nowMs() }),
      telemetry: options.telemetry ?? noTelemetry,
      secretPolicy: options.secretPolicy,
      clock,
      prng: systemPrng,
      digest: sha256Digest,
      memory: sessionMemory({ store, embedder: null }),
    };
    this.#host = new Host(this.#ports, async () => {
      await this.#ports.queue.close();
      await store.close();
    });
  }

  async begin(): Promise<void> {
    await this.#startCoordinator();
    await this.#startWorker();
  }

  async #startCoordinator(): Promise<void> {
    const { onError, traces } = this.#options;
    this.#coordinator = await this.#host.startCoordinator({
      ...(onError !== undefined && { onError }),
      ...(traces !== undefined && { traces: traces(this.#ports) }),
    });
  }

  /** The coordinator ends, and another starts; workers stay. */
  async restartCoordinator(): Promise<void> {
    await this.#coordinator?.stop();
    await this.#startCoordinator();
  }

  /** The ports below it, for tests that read its log and rows. */
  get ports(): Ports {
    return this.#ports;
  }

  /** Calls besides starting: decide, signal, remember, raise budgets. */
  get client(): Client {
    return this.#host.client;
  }

  /** What the model calls of a checkpoint's step saw, rebuilt from rows; for the sequence after the newest, those under way. */
  async bundles(workflow: WorkflowId, at: number): Promise<readonly RebuiltCall[]> {
    return (await rebuildCalls({ ...this.#ports, tokenizerById }, workflow, at as Sequence)).calls;
  }

  /** Starts a workflow; the same id returns the same run. */
  start<Input, Output>(
    definition: Definition<Input, Output>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<Run<Output>> {
    return this.#host.client.start(definition, input, options);
  }

  /** Answers the effect's calls with the function's result from now on. */
  stub(effect: Pick<EffectDefinition, 'operation'>, answer: Stub): void {
    this.#stubs.set(effect.operation, answer);
  }

  /** Calls of the effect that were made, in order, over all workers' lives. */
  calls(effect: Pick<EffectDefinition, 'operation'>): readonly EffectCall[] {
    return this.#calls.get(effect.operation) ?? [];
  }

  /** The worker dies at the next such place; its successor starts at once. */
  crash(point: CrashPoint): void {
    if (point.after === undefined && point.before === undefined && point.boundary === undefined) {
      throw new InvalidError('crash-point-empty', 'crash: name an event with `after` or `before`, or a boundary.');
    }
    this.#crashPoints.push(point);
  }

  /** Crashes that have happened. */
  get crashCount(): number {
    return this.#crashCount;
  }

  /** Boundaries at which a worker could have died so far. */
  get boundaryCount(): number {
    return this.#boundaryCount;
  }

  /** Keys under which an effect was called, over all effects and all workers' lives. */
  get calledKeys(): ReadonlySet<string> {
    return new Set([...this.#calls.values()].flatMap((calls) => calls.map(({ key }) => key)));
  }

  /**
   * Moves time forward: timers that fall due meanwhile fire, waits that are over end, and so do calls under way whose time-out
   * has passed. Accepts milliseconds, or '90s', '30m', '2h', '3d'.
   */
  advance(duration: number | string): void {
    this.#skippedMs += typeof duration === 'number' ? duration : parseDuration(duration);
    this.#skip.abort();
    this.#skip = new AbortController();
  }

  /**
   * Advances time until the promise settles, a second every few milliseconds: for waits that begin on the way, such as the one before
   * something irreversible is compensated. A call of 300 ms takes 30 s then: stub slow effects. Rejects where the promise has not settled
   * after a minute.
   */
  async fastForward<T>(end: Promise<T>): Promise<T> {
    let isOver = false;
    const over = end.finally(() => {
      isOver = true;
    });
    // The returned promise reports a failure to the caller.
    over.catch(() => {});
    const deadlineMs = systemClock.monotonicMs() + DEFAULT_TIMEOUT_MS;
    while (!isOver) {
      if (systemClock.monotonicMs() > deadlineMs) throw new Error(`did not end within ${DEFAULT_TIMEOUT_MS} ms`);
      this.advance(FAST_FORWARD_MS);
      await Promise.race([over, systemClock.sleep(FAST_FORWARD_PERIOD_MS)]);
    }
    return over;
  }

  /** Pending tasks as the rows have them. */
  async tasksOf(workflow: WorkflowId): Promise<readonly TaskState[]> {
    const rows = await this.#ports.store.tasks(workflow, TASKS_MAX);
    return rows.map((row) => JSON.parse(row.state) as TaskState);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#worker?.stop(0);
    await this.#host.close();
    // Sleeps of dead workers, such as the time-out of the call in which they died, keep no process alive.
    this.#isClosed = true;
    this.#skip.abort();
  }

  /** Ends when the world's time has come, by itself or because it was moved. */
  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const now = (): number => systemClock.monotonicMs() + this.#skippedMs;
    const dueMs = now() + ms;
    do {
      const skip = this.#skip.signal;
      await systemClock.sleep(
        Math.max(dueMs - now(), 0),
        signal === undefined ? skip : AbortSignal.any([signal, skip]),
      );
      if (this.#isClosed) return never();
    } while (signal?.aborted !== true && now() < dueMs);
  }

  async #startWorker(): Promise<void> {
    const life = new AbortController();
    const { onError, onDelta, workflows } = this.#options;
    const worker = new Worker({
      ports: { ...this.#ports, log: this.#mortalLog(life.signal) },
      lamport: new LamportClock(),
      definitions: workflows,
      concurrency: CONCURRENCY,
      schedules: scheduleHost(this.#host.client, this.#ports.clock),
      bulk: bulkHost(this.#host.client, this.#ports.store, workflows),
      callEffect: this.#callEffect(life.signal),
      ...(onError === undefined ? {} : { onError }),
      ...(onDelta === undefined ? {} : { onDelta }),
    });
    this.#worker = worker;
    this.#kill = () => {
      if (life.signal.aborted) return;
      life.abort();
      this.#crashCount++;
      // A dead process beats no more; here its beats are removed instead.
      void worker.die().then(() => this.#startWorker());
    };
    await worker.start();
  }

  #callEffect(life: AbortSignal): CallEffect {
    return async (effect, request, context) => {
      if (life.aborted) return never();
      const calls = this.#calls.get(effect.operation) ?? [];
      this.#calls.set(effect.operation, calls);
      calls.push({ request, key: context.key });
      const stub = this.#stubs.get(effect.operation);
      const response = await (stub === undefined ? effect.call(request, context) : stub(request as never, context));
      if (this.#dieAt((point) => point.after === 'call' && matches(point, { operation: effect.operation })))
        return never();
      return response;
    };
  }

  /** The world's log as the worker sees it: once it is dead, its writes never arrive and nothing answers it. */
  #mortalLog(life: AbortSignal): EventLog {
    const log = this.#ports.log;
    return Object.assign(Object.create(log) as EventLog, {
      recordMaxBytes: log.recordMaxBytes,
      partitionCount: () => log.partitionCount(),
      read: (requests: Parameters<EventLog['read']>[0]) => (life.aborted ? never() : log.read(requests)),
      bounds: (partitions?: readonly Partition[]) => log.bounds(partitions),
      append: async (partition: Partition, records: readonly LogRecord[]) => {
        if (life.aborted) return never();
        const events = records.map(eventOf);
        if (this.#dieAt((point) => events.some((event) => point.before === event.type && matches(point, event))))
          return never();
        const offset = await log.append(partition, records);
        if (this.#dieAt((point) => events.some((event) => point.after === event.type && matches(point, event))))
          return never();
        return offset;
      },
    });
  }

  #dieAt(here: (point: CrashPoint) => boolean): boolean {
    const boundary = ++this.#boundaryCount;
    const index = this.#crashPoints.findIndex((point) =>
      point.boundary === undefined ? here(point) : point.boundary === boundary,
    );
    if (index < 0) return false;
    this.#crashPoints.splice(index, 1);
    this.#kill?.();
    return true;
  }
}

const never = <T>(): Promise<T> => new Promise<T>(() => {});

interface Place {
  readonly type?: EventType;
  readonly operation?: string | undefined;
  readonly step?: string | undefined;
}

const matches = (point: CrashPoint, place: Place): boolean =>
  (point.operation === undefined || point.operation === place.operation) &&
  (point.step === undefined || point.step === place.step);

function eventOf(record: LogRecord): Place {
  const entry = decodeRecord(record.value);
  if (entry.kind !== 'event') return {};
  const { type, control } = entry.envelope;
  const { operation, step } = control as Partial<
    Envelope<'EffectIntended'>['control'] & Envelope<'CheckpointCommitted'>['control']
  >;
  return { type, operation, step };
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function parseDuration(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  if (amount === undefined || unit === undefined) {
    throw new InvalidError(
      'duration-invalid',
      `advance('${text}'): write a number with ms, s, m, h or d, such as '2h'.`,
    );
  }
  return Number(amount) * UNIT_MS[unit]!;
}
