/**
 * Owns a worker: it takes jobs, claims the workflows that they hint at, runs them and releases them, and sends heartbeats so that its death
 * is noticed. It drops a job whose workflow is not runnable. A worker may vanish at any moment, and keeps nothing that isn't in the log.
 */

import {
  type Epoch,
  FencedError,
  type HolderId,
  InvalidError,
  type Partition,
  type Sequence,
  type StreamState,
  type TaskId,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import { type Announcement, type Consumer, type Job, type Keeping, type Route, routeKey } from '@tidemark/ports';
import { ModelCalls } from '../agent/index.ts';
import {
  type BulkHost,
  bulkDefinition,
  PausedRuns,
  type QueuePauses,
  type ScheduleHost,
  scheduleDefinition,
} from '../control/index.ts';
import { CallPieces, type Definition, type ModelChunk, type PieceSink, ProgressGate } from '../definition/index.ts';
import { type CallEffect, callEffect, Drain } from '../effects/index.ts';
import { checkSecrets, ownerOf, withSealedFields, withSecrets } from '../encryption/index.ts';
import { Applied, definitionFor, routesOf } from '../history/index.ts';
import {
  check,
  guardOf,
  type Health,
  type LamportClock,
  type Loop,
  onSecretOf,
  type Ports,
  progressCheck,
  type SecretGuard,
  startLoop,
  whileUnavailable,
  workerHolder,
} from '../kernel/index.ts';
import { LeasedStream } from '../lease/index.ts';
import { isRunnable, jobOf } from '../projection/index.ts';
import { type RunEnd, releaseDraft, WorkflowRunner } from '../run/index.ts';
import { withUndos } from '../sagas/index.ts';
import { type Claimable, ClaimableReads } from './claimable.ts';
import { Company, type Member } from './company.ts';
import { contextReads, memoryReads } from './context-reads.ts';
import { LeasedReads } from './leased-reads.ts';
import {
  BEAT_PERIOD_MS,
  BEAT_STALL_MS,
  BEAT_TTL_MS,
  GIVEN_REST_MS,
  GIVING_MAX_MS,
  ROOM_WAIT_MAX_MS,
} from './limits.ts';
import { SecretSample } from './secret-sample.ts';

/** How long a stopping worker waits for the release of its leases after its drain budget, in milliseconds. */
export const HAND_OVER_MAX_MS = 2_000;

export interface WorkerOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly definitions: readonly Definition[];
  /**
   * Identifies the code of the definitions, 1 to 128 printable characters of ASCII without spaces: other code must have another name.
   * Absent: the build is unknown, and no failed workflow resumes because of this worker.
   */
  readonly build?: string | undefined;
  /** Most workflows that run at once. */
  readonly concurrency: number;
  /** Starts the runs of the definitions' schedules; absent: this worker runs no schedules. */
  readonly schedules?: ScheduleHost | undefined;
  /** The client through which bulk jobs act; absent: this worker runs none. */
  readonly bulk?: BulkHost | undefined;
  /** The paused queues; by default this worker reads them itself. */
  readonly pauses?: Pick<QueuePauses, 'known' | 'isHeld'> | undefined;
  /** Receives each piece of a model's answer as it arrives, and the progress of steps. */
  readonly onDelta?: (reported: ModelChunk) => void;
  /** Receives each claimed workflow, with the checkpoint from which it resumes. */
  readonly onResume?: (resumed: Readonly<{ workflow: WorkflowId; sequence: Sequence; epoch: Epoch }>) => void;
  /** Makes effects' calls in place of `effect.call`; for tests. */
  readonly callEffect?: CallEffect;
  /** Receives every failure that the worker survived; for logs. */
  readonly onError?: (where: string, error: unknown) => void;
}

export interface Uncheckpointed {
  /** Workflows that it leases. */
  readonly workflowCount: number;
  /** Total time that the running steps have taken so far. */
  readonly stepMs: number;
}

export class Worker {
  readonly #options: WorkerOptions;
  /** All definitions that it can run, undos included. */
  readonly #definitions: readonly Definition[];
  /** The system's own definitions. */
  readonly #system: readonly Definition[];
  /** This incarnation's name; never reused. */
  readonly holder: HolderId;
  readonly #running = new Map<WorkflowId, Promise<void>>();
  /** Jobs that arrived while their workflow was running here. They may hint at something newer than the run has seen. */
  readonly #again = new Map<WorkflowId, Job>();
  readonly #leases = new Map<WorkflowId, Epoch>();
  readonly #runners = new Map<WorkflowId, WorkflowRunner>();
  readonly #queues: PausedRuns;
  readonly #company = new Company((max) => this.#consumer?.narrow(max));
  /** What it announces of its code. */
  readonly #announced: Announcement;
  readonly #claimable: ClaimableReads;
  readonly #applied: Applied;
  readonly #stopping = new AbortController();
  readonly #abandon = new AbortController();
  readonly #drain: Drain;
  readonly #sample: SecretSample;
  /** Ends the handling of each current job once the worker waits for nothing more. */
  readonly #leavers = new Set<() => void>();
  #consumer: Consumer | undefined;
  #beat: Loop | undefined;
  #isKeeping = false;
  /** Whether coordinators have received a heartbeat. */
  #hasBeaten = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
    const { ports, definitions, schedules, bulk } = options;
    this.#queues = new PausedRuns(ports, options.pauses);
    const own = schedules === undefined ? [] : definitions.map((each) => scheduleDefinition(each, schedules));
    this.#system = bulk === undefined ? [] : [bulkDefinition(bulk)];
    this.#definitions = [...withUndos([...definitions, ...own], ports.store), ...this.#system];
    this.#announced = announcementOf(options);
    this.holder = workerHolder(uuidv7(ports.clock.nowMs(), ports.prng.bytes(10)));
    this.#applied = new Applied(ports);
    this.#drain = new Drain(ports.clock);
    this.#sample = new SecretSample(ports, (error) => this.#report('secrets', error));
    this.#claimable = new ClaimableReads(ports);
  }

  /** The work that would be repeated, or handed over, if the worker vanished now. */
  get uncheckpointed(): Uncheckpointed {
    return { workflowCount: this.#leases.size, stepMs: this.#drain.underWayMs };
  }

  /** Throws `ConfigError` (`secrets-unconfigured`), and what the ports throw. */
  async start(): Promise<void> {
    const { ports, concurrency } = this.#options;
    checkSecrets(this.#options.definitions, ports);
    await this.#beatOnce();
    this.#beat = startLoop(() => this.#beatOnce(), {
      clock: ports.clock,
      periodMs: BEAT_PERIOD_MS,
      onError: (error) => this.#report('beat', error),
    });
    const routes = [...routesOf([...this.#options.definitions, ...this.#system]), ...routesOfBuild(this.#options)];
    this.#consumer = await ports.queue.consume({ concurrency, routes }, (job) => this.#handle(job));
    if (this.#company.max !== undefined) this.#consumer.narrow(this.#company.max);
  }

  /**
   * Takes no further jobs. Running steps may finish within the budget; then they are aborted and the leases released. A lease that can't be
   * released in time, because the log is unavailable, is left to be revoked.
   */
  async stop(drainMs: number): Promise<void> {
    const { clock, liveness } = this.#options.ports;
    this.#stopping.abort(new FencedError('draining', 'The worker is stopping.'));
    await this.#consumer?.pause();
    const drained = new AbortController();
    const all = Promise.allSettled(this.#running.values()).then(() => drained.abort());
    await Promise.all([this.#drain.watch(drainMs, drained.signal), clock.sleep(drainMs, drained.signal)]);
    this.#abandon.abort(new FencedError('abandoned', 'The worker must stop now.'));
    const handedOver = new AbortController();
    void all.then(() => handedOver.abort());
    await clock.sleep(HAND_OVER_MAX_MS, handedOver.signal);
    for (const leave of this.#leavers) leave();
    await this.#consumer?.close();
    await this.#beat?.stop();
    await liveness.leave(this.holder);
    await this.#applied.close();
    this.#sample.close();
  }

  /**
   * Ready: coordinators have received a heartbeat, and the worker takes jobs. Heartbeats that are lost later don't count: the worker still
   * commits, and neither a restart nor exclusion from rollouts would help (decision 0038).
   */
  health(): Health {
    return {
      ready: [
        check('presence', !this.#hasBeaten && 'no coordinator has received its heartbeat yet'),
        check('jobs', (this.#consumer === undefined || this.#stopping.signal.aborted) && 'it takes no jobs'),
      ],
      live: this.#beat === undefined ? [] : [progressCheck('beat', this.#beat.state())],
    };
  }

  /** Vanishes like a killed process: it hands nothing over, and sends no more heartbeats. For tests. */
  async die(): Promise<void> {
    const { liveness } = this.#options.ports;
    this.#stopping.abort(new FencedError('died', 'The worker is dead.'));
    this.#sample.drop();
    await this.#consumer?.pause();
    await this.#beat?.stop();
    await liveness.vanish(this.holder);
  }

  /** Checkpoints of a workflow that this worker has staged and that the log hasn't accepted yet. */
  pendingCheckpoints(workflow: WorkflowId): WorkflowRunner['pendingCheckpoints'] {
    return this.#runners.get(workflow)?.pendingCheckpoints ?? [];
  }

  #report(where: string, error: unknown): void {
    try {
      this.#options.onError?.(where, error);
    } catch {
      // A failing listener must not cost a workflow its place.
    }
  }

  async #beatOnce(): Promise<void> {
    for (const runner of this.#runners.values()) void runner.poll();
    void this.#queues.poll();
    const leases = Array.from(this.#leases, ([workflow, epoch]) => ({ workflow, epoch }));
    const { liveness } = this.#options.ports;
    const announced = this.#stopping.signal.aborted ? undefined : this.#announced;
    const onShare = (max: number): void => void this.#keep(max);
    const hasBeaten = await liveness.beat(this.holder, leases, BEAT_TTL_MS, BEAT_STALL_MS, announced, onShare);
    if (hasBeaten) this.#hasBeaten = true;
  }

  /** Others of its like have less than a share: for a while it hands over what is beyond its own, between two steps, and leaves it to them. */
  async #keep(max: number): Promise<void> {
    if (this.#isKeeping || this.#stopping.signal.aborted) return;
    this.#isKeeping = true;
    const { clock } = this.#options.ports;
    const kept = new AbortController();
    void this.#company.keep(max).then(() => kept.abort());
    await clock.sleep(GIVING_MAX_MS, AbortSignal.any([kept.signal, this.#stopping.signal]));
    await clock.sleep(GIVEN_REST_MS, this.#stopping.signal);
    await this.#company.keep(Infinity);
    this.#isKeeping = false;
  }

  async #handle(job: Job): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    if (this.#running.has(job.workflow)) {
      // The run may be ending, after its last check for work: then the hint would be lost until the sweep.
      this.#again.set(job.workflow, job);
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#leavers.add(resolve);
    const run = this.#runAll(job).then(() => {
      this.#leavers.delete(resolve);
      resolve();
    });
    this.#running.set(job.workflow, run);
    await promise;
  }

  /** Runs the job, and any job that arrives for the same workflow meanwhile. Never rejects. */
  async #runAll(first: Job): Promise<void> {
    const { workflow } = first;
    for (let job: Job | undefined = first; job !== undefined && !this.#stopping.signal.aborted; ) {
      try {
        await this.#run(job);
      } catch (error) {
        if (!(error instanceof FencedError)) this.#report(`workflow ${workflow}`, error);
      }
      job = this.#again.get(workflow);
      this.#again.delete(workflow);
    }
    this.#running.delete(workflow);
  }

  async #run(job: Job): Promise<void> {
    const { ports, lamport } = this.#options;
    lamport.witness(job.lamport);
    const available = <T>(read: () => Promise<T>): Promise<T> =>
      whileUnavailable(ports.clock, this.#stopping.signal, read);
    const claimable = await available(() => this.#claimable.of(job));
    if (claimable === undefined) return;
    const { state, next } = claimable;
    const definition = definitionFor(this.#definitions, state);
    // Rows older than the hint may not show yet what made the workflow runnable.
    if (definition === undefined || (!isRunnable(state) && job.offset <= next)) return;
    // Who starts a workflow sends its job whether its queue is paused or not.
    if (await available(() => this.#queues.isHeld(state))) return;
    lamport.witness(state.lamport);
    const member = { besideMax: undefined, stop: this.#queues.begin(state, this.#stopping.signal) };
    try {
      await this.#lease(definition, claimable, member);
    } finally {
      this.#company.leave(member);
      this.#leases.delete(state.workflow);
      this.#queues.end(state.workflow);
    }
  }

  /** Claims, runs, releases. Throws `FencedError` when another worker was first, or when the lease is lost. */
  async #lease(known: Definition, claimable: Claimable, member: Member): Promise<void> {
    const { ports, lamport } = this.#options;
    const { state, partition, next } = claimable;
    const { definition, guard } = await this.#withSecrets(known, state);
    const content = claimable.content();
    let runner: WorkflowRunner | undefined;
    const stream = new LeasedStream(state, next, {
      ports,
      lamport,
      partition,
      holder: this.holder,
      onForeign: ({ envelope, payload }) => {
        content.apply(envelope, payload);
        runner?.onControlChanged();
      },
      onAccepted: (event, payload) => {
        this.#company.restrict(member, stream.confirmed.besideMax ?? undefined);
        if (guard === undefined) this.#sample.offer(known.name, event, payload);
      },
      onFenced: (error) => {
        runner?.cancel(error);
        if (this.#company.isWaiting(member)) this.#company.leave(member);
      },
    });
    if (!isRunnable(state)) await stream.catchUp();
    if (!(await this.#claim(stream, partition, member))) return;
    await this.#room(member);
    if (stream.fenced !== undefined) throw stream.fenced;
    const dependencies = { ports, stream, signal: this.#abandon.signal };
    const reads = contextReads(dependencies, content.fork);
    const leased = new LeasedReads({ ...dependencies, applied: this.#applied, partition, fork: content.fork });
    const applied = (): Promise<void> => leased.settled();
    const progressed = new ProgressGate();
    const report = (task: TaskId | null, delta: ModelChunk['delta'], keeping: Keeping = 'none'): void => {
      const reported = { workflow: state.workflow, task, delta };
      this.#options.onDelta?.(reported);
      ports.watch?.publish(state.workflow, JSON.stringify(reported), keeping);
    };
    const pieces = this.#pieces(stream, report);
    runner = new WorkflowRunner({
      ports,
      definition,
      stream,
      content,
      build: this.#options.build,
      stop: member.stop,
      onBetween: () => this.#company.between(member),
      abandon: this.#abandon.signal,
      onProgress: (task, progress) => {
        const reported = progressed.take(task, progress, ports.clock.monotonicMs());
        if (reported !== undefined) report(task, reported);
      },
      onWait: (text) => report(null, { kind: 'wait', text }),
      recordedCalls: (task) => leased.recordedCalls(task),
      readOutputs: (step) => leased.outputs(step),
      readJournal: (after) => leased.journal(after),
      ...memoryReads(dependencies, definition, applied),
      reads,
      witness: (other) => lamport.witness(other),
      models: new ModelCalls({
        ports: { ...ports, store: reads },
        definition,
        context: content.context,
        input: () => content.input,
        state: () => stream.speculative,
        applied,
        onStream: (...call) => pieces.begin(...call),
        trace: () => stream.trace,
      }),
      recovery: ports.recovery,
      readHead: () => leased.head(),
      replay: leased.replay(content),
      drain: this.#drain,
      guard,
      callEffect: this.#options.callEffect ?? callEffect,
    });
    const end = await this.#orRelease(stream, runner);
    if (end === 'stopped') await this.#handOver(stream, partition);
    if (end === 'closed') this.#reportParked(stream.confirmed);
  }

  #reportParked({ status, workflow, reason }: StreamState): void {
    if (status !== 'parked') return;
    const error = new FencedError('parked', `Workflow ${workflow} waits for a person: ${reason}.`);
    this.#report(`workflow ${workflow}`, error);
  }

  #pieces({ confirmed: { workflow, epoch } }: LeasedStream, send: PieceSink['send']): CallPieces {
    const { clock, watch } = this.#options.ports;
    return new CallPieces(epoch, clock, { send, release: () => watch?.release(workflow, epoch) });
  }

  /** Whether it is claimed: it has to be runnable, and may have to run elsewhere. Throws as `#lease` does. */
  async #claim(stream: LeasedStream, partition: Partition, member: Member): Promise<boolean> {
    if (stream.fenced !== undefined) throw stream.fenced;
    const { workflow, epoch, besideMax } = stream.confirmed;
    if (!isRunnable(stream.confirmed) || (await this.#passOn(stream, partition))) return false;
    member.besideMax = besideMax ?? undefined;
    if (!this.#company.join(member)) {
      await this.#handOver(stream, partition);
      return false;
    }
    // Listed before the claim lands, so that no coordinator takes it for the lease of a dead worker.
    this.#leases.set(workflow, (epoch + 1) as Epoch);
    const claimed = stream.stage([{ type: 'LeaseClaimed', control: {}, payload: null }]);
    stream.flush();
    await claimed;
    const { head } = stream.confirmed;
    this.#options.onResume?.({ workflow, sequence: head.sequence, epoch: stream.confirmed.epoch });
    return true;
  }

  /** Waits until it may run beside the others here. After too long, and when the worker stops, it is handed over instead. */
  async #room(member: Member): Promise<void> {
    if (!this.#company.isWaiting(member)) return;
    const over = new AbortController();
    void this.#company.room(member).then(() => over.abort());
    const ends = AbortSignal.any([over.signal, this.#stopping.signal]);
    await this.#options.ports.clock.sleep(ROOM_WAIT_MAX_MS, ends);
    if (this.#company.isWaiting(member)) member.stop.hold();
  }

  /** Runs before the claim: a worker that may not use the key leaves the workflow to others. */
  async #withSecrets(known: Definition, state: StreamState): Promise<Viewed> {
    const { ports } = this.#options;
    const guard = onSecretOf(known, ports) === 'report' ? undefined : guardOf(known.name, [known], ports);
    const viewed = guard === undefined ? withSealedFields : withSecrets;
    const definition = await whileUnavailable(ports.clock, this.#stopping.signal, () =>
      viewed(known, ports, () => ownerOf(ports, state)),
    );
    return { definition, guard };
  }

  /**
   * A run that fails by an error of its own releases the lease with the reason `fault`, which counts as a crash, so that it can't repeat
   * for ever.
   */
  async #orRelease(stream: LeasedStream, runner: WorkflowRunner): Promise<RunEnd> {
    const { workflow } = stream.confirmed;
    this.#runners.set(workflow, runner);
    try {
      return await runner.run();
    } catch (error) {
      if (stream.fenced === undefined && stream.isHeld) {
        const released = stream.stage([releaseDraft('fault')]);
        stream.flush();
        await released.catch(() => {});
      }
      throw error;
    } finally {
      this.#runners.delete(workflow);
    }
  }

  /** A workflow that failed on this build, and that resumes because another build was announced, is passed on to workers of that build. */
  async #passOn({ confirmed, next }: LeasedStream, partition: Partition): Promise<boolean> {
    const { failedOn, ruling } = confirmed;
    const { ports, build } = this.#options;
    if (build === undefined || failedOn?.next === undefined || ruling !== null) return false;
    if (!failedOn.builds.includes(build)) return false;
    const job = jobOf({ ...confirmed, partition }, next, ports.telemetry);
    await ports.queue.enqueue([{ ...job, build: failedOn.next }]);
    return true;
  }

  /** Another worker learns of the work at once, even while no coordinator is there to dispatch it. */
  async #handOver({ confirmed, next }: LeasedStream, partition: Partition): Promise<void> {
    const { ports } = this.#options;
    if (!isRunnable(confirmed)) return;
    try {
      if (await this.#queues.isHeld(confirmed)) return;
      await ports.queue.enqueue([jobOf({ ...confirmed, partition }, next, ports.telemetry)]);
    } catch (error) {
      this.#report(`hand-over of ${confirmed.workflow}`, error);
    }
  }
}

/** A definition as a run uses it. Without a guard secrets are only reported: the worker looks at a sample of what it has committed. */
interface Viewed {
  readonly definition: Definition;
  readonly guard: SecretGuard | undefined;
}

const BUILD = /^[!-~]{1,128}$/;

/** Throws `InvalidError` (`build-invalid`). */
function checkedBuild(build: string): string {
  if (BUILD.test(build)) return build;
  const message = 'build: give 1 to 128 printable characters of ASCII, without spaces.';
  throw new InvalidError('build-invalid', message, { field: 'build' });
}

type OfBuild = Pick<WorkerOptions, 'definitions' | 'build' | 'concurrency'>;

/** Routes of the workflows that resume on this build. */
function routesOfBuild({ definitions, build }: Omit<OfBuild, 'concurrency'>): readonly Route[] {
  if (build === undefined) return [];
  const waiting = definitions.filter(({ onFailure }) => onFailure === 'retry-on-new-build');
  return routesOf(waiting).map((route) => ({ ...route, build }));
}

function announcementOf(options: OfBuild): Announcement {
  const routes = routesOfBuild(options).map((route) => routeKey({ ...route, build: undefined }));
  const serves = routesOf(options.definitions).map(routeKey);
  const { build, concurrency } = options;
  return { ...(build !== undefined && { build: checkedBuild(build) }), serves, routes, concurrency };
}
