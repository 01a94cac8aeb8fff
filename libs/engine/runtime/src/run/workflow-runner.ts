/**
 * Owns the run of one claimed workflow. It starts unblocked tasks up to the definition's limit, commits each as it finishes, and releases
 * the lease when nothing is left to do. It does not decide what the fold decides: a rejection ends the run at once.
 *
 * W1 A task of a durable step counts as done, and its successors start, only when its checkpoint is known to be accepted.
 * W2 Nothing irreversible starts while staged checkpoints before it are unflushed: the flush comes first, in order (I4).
 */

import type { MemoryWrite } from '@tidemark/codec';
import {
  awaitsInbox,
  checkpointId,
  crashRestMs,
  FencedError,
  isOpen,
  isUnblocked,
  type Json,
  type Lamport,
  recoveryPolicy,
  runsAlone,
  type Sequence,
  type TaskId,
  type TaskState,
  TidemarkError,
  uuidv7,
} from '@tidemark/core';
import type { MemoryStore } from '@tidemark/ports';
import {
  bringsContext,
  type CommitContext,
  commitContext,
  endsHistory,
  failureSummary,
  NO_CONTEXT,
  spentByTask,
  withFailureSummary,
} from '../agent/index.ts';
import { CompensateError, ParkError, ProbeError, type StepDefinition, SuspendedError } from '../definition/index.ts';
import {
  Attempts,
  type CallEffect,
  EffectRun,
  type EffectRunParts,
  hasOpen,
  isSuspended,
  StepAbandonedError,
  WorkflowCancelledError,
} from '../effects/index.ts';
import { type ContextReads, canRun, contentDraft, type ResolvedTask, resolveTask } from '../history/index.ts';
import { type Ports, RunGate } from '../kernel/index.ts';
import {
  crashRestDraft,
  type Draft,
  Flushing,
  failureDrafts,
  type LeasedStream,
  parkDraft,
  waitDraft,
} from '../lease/index.ts';
import { commitDrafts, followStaged, lastingCall } from './commit.ts';
import { cancelDraft, isUnwinding, mustBeDecided, onceDecided, releaseDraft, undoDraft } from './ending.ts';
import { firstToStart, nextTask } from './next-task.ts';
import { type AttemptDependencies, attemptStep, type PerformedStep } from './step-attempt.ts';
import { budgetDraft, isOverBudget, type TakeOver, takeOver } from './takeover.ts';

/** Period at which a holder polls the log while a task waits for a timer or a signal and others run, in milliseconds. */
export const INBOX_POLL_PERIOD_MS = 250;
/**
 * A run whose steps are running polls the log for a cancellation or a pause after it has neither appended nor polled for so long, in
 * milliseconds.
 */
const CONTROL_POLL_PERIOD_MS = 1_000;

export interface RunnerOptions extends AttemptDependencies {
  readonly ports: Pick<Ports, 'clock' | 'digest' | 'prng' | 'telemetry'>;
  /** The build of the worker's code; absent if it is unknown. */
  readonly build?: string | undefined;
  /** Aborted when the worker drains, or when the workflow's queue is paused: no further task starts. */
  readonly stop: Pick<AbortSignal, 'aborted'>;
  /** Called before a step when none is under way: what sets `stop` then makes the run end at once. */
  readonly onBetween?: (() => void) | undefined;
  /** Aborts when the worker's drain is over: running steps see it on their signal, and their attempts are discarded. */
  readonly abandon: AbortSignal;
  readonly reads: ContextReads & Pick<MemoryStore, 'lamportOf'>;
  /** Receives the Lamport times of events that others have written. */
  readonly witness: (lamport: Lamport) => void;
  /** Reads the newest checkpoint and its effects, once rows have it. */
  readonly readHead: TakeOver['readHead'];
  readonly recovery?: TakeOver['recovery'];
  readonly callEffect: CallEffect;
  readonly guard?: EffectRunParts['guard'];
  readonly replay?: EffectRunParts['replay'];
  readonly recordedCalls: EffectRunParts['recordedCalls'];
  readonly onWait?: ((text: string) => void) | undefined;
}

const NONE: ReadonlySet<TaskId> = new Set();

/** A constant reason, because an abort without one creates an error with a stack. */
const WOKEN = 'woken';

/**
 * Why a run ended. `closed`: the workflow is no longer open, or no longer leased by this holder. `idle`: nothing can run now. `stopped`:
 * the worker drains, or the queue is paused.
 */
export type RunEnd = 'closed' | 'idle' | 'stopped';

export class WorkflowRunner {
  readonly #options: RunnerOptions;
  readonly #running = new Map<TaskId, Promise<void>>();
  /** Tasks whose steps have ended the workflow, and that wait for others. */
  readonly #ending = new Set<TaskId>();
  readonly #abort = new AbortController();
  readonly #effects: EffectRun;
  readonly #flushing: Flushing;
  #failure: unknown;
  #hasReleased = false;
  /** When this run last polled the log for others' events, whether or not the log answered (monotonic milliseconds). */
  #polledMs = Number.NEGATIVE_INFINITY;
  readonly #gate = new RunGate();
  #waived: Set<TaskId> | undefined;
  /** Ends the run's wait for the end of a task. */
  #wake: (() => void) | undefined;
  readonly #attempts: Attempts;
  readonly #onAbandon = (): void => this.cancel(this.#options.abandon.reason);

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#attempts = new Attempts(options.ports.clock, (task) => hasOpen(options.stream.speculative, task));
    options.abandon.addEventListener('abort', this.#onAbandon, { once: true });
    this.#flushing = new Flushing(options.stream, options.ports, options.definition.staging ?? {}, (error) => {
      this.#failure ??= error;
    });
    this.#effects = new EffectRun({
      ...options,
      flushing: this.#flushing,
      newCheckpoint: () => this.#newCheckpoint(),
      gate: this.#gate,
      onProgress: (progress) => options.onProgress?.(null, { ...progress, step: '' }),
      onWait: (text) => options.onWait?.(text),
    });
  }

  get pendingCheckpoints(): LeasedStream['pendingCheckpoints'] {
    return this.#options.stream.pendingCheckpoints;
  }

  /**
   * Runs until there is nothing to do, and then releases the lease. Throws `FencedError` when the lease is lost; after any other error the
   * caller releases it.
   */
  async run(): Promise<RunEnd> {
    const { stream, stop } = this.#options;
    try {
      const first = await this.#takeOver();
      if (first === 'later') return await this.#end();
      if (first !== undefined) await this.#endRun(() => [first]);
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        if (stream.fenced !== undefined) throw stream.fenced;
        this.#startTasks();
        if (this.#running.size > 0 || this.#isWaitingToUnwind()) await this.#taskEnds();
        else {
          await this.#drain();
          // What others wrote meanwhile, such as a confirmation, may let a task start, or have the run unwind.
          const goesOn = this.#nextTask() !== undefined || this.#isWaitingToUnwind();
          if (stop.aborted || this.#abort.signal.aborted || !goesOn) break;
        }
      }
      const last = this.#mayGoOn() ? this.#lastDraft() : undefined;
      if (last !== undefined) await this.#endRun(() => [last]);
      return await this.#end();
    } catch (error) {
      this.cancel(error);
      await Promise.allSettled(this.#running.values());
      throw error;
    } finally {
      this.#flushing.stop();
      this.#options.abandon.removeEventListener('abort', this.#onAbandon);
    }
  }

  /** The event to append once nothing is running any more, if the workflow is cancelled or has used up its budget. */
  #lastDraft(): Draft | undefined {
    const { stream, definition, stop } = this.#options;
    const state = stream.confirmed;
    if (state.ruling !== 'cancel') return budgetDraft(state, definition);
    if (stop.aborted && isUnwinding(state, definition)) return undefined;
    return canRun(definition, state) ? cancelDraft(state, definition) : undefined;
  }

  /** Must be called when others have written to the workflow: if it was cancelled, running steps see it on their signal. */
  onControlChanged(): void {
    const { workflow, ruling, cancel } = this.#options.stream.confirmed;
    if (ruling !== 'cancel') return;
    const reason = new WorkflowCancelledError(workflow, cancel?.code ?? '', cancel?.by ?? '');
    void this.#attempts.cancel(reason, this.#abort.signal);
  }

  /**
   * Polls the log while steps run for long: the run appends nothing meanwhile, so it would not learn what others have written otherwise.
   */
  async poll(): Promise<void> {
    const { stream, ports } = this.#options;
    const nowMs = ports.clock.monotonicMs();
    if (this.#attempts.count === 0 || nowMs - Math.max(stream.polledMs, this.#polledMs) < CONTROL_POLL_PERIOD_MS)
      return;
    this.#polledMs = nowMs;
    await stream.catchUp();
  }

  /**
   * The event that ends the run before it begins, if any. A workflow that others moved to a version which this definition can't run is not
   * taken over. `later`: a probe failed, so the next task counts as failed in its place. All wait for their timers, without a worker; a
   * cancelled run, which is claimed whenever it is free, waits here.
   */
  async #takeOver(): Promise<Draft | 'later' | undefined> {
    const { stream, definition, content, ports, stop } = this.#options;
    if (!canRun(definition, stream.confirmed)) return undefined;
    const signal = this.#abort.signal;
    try {
      const first = await takeOver(stream.confirmed, { ...this.#options, ...{ effects: this.#effects, signal } });
      if (first !== undefined) return first;
      const policy = recoveryPolicy(definition.recovery, this.#options.recovery);
      // A cancelled run only unwinds, and is claimed whenever it is free.
      const restMs = crashRestMs(stream.confirmed, policy, ports.clock.nowMs());
      if (restMs > 0 && !isUnwinding(stream.confirmed, definition)) return await this.#rest(restMs);
    } catch (error) {
      const task = error instanceof ProbeError ? firstToStart(stream.confirmed, definition) : undefined;
      if (task === undefined) throw error;
      const startedAtMs = ports.clock.nowMs();
      await this.#failed(undefined, task, error, startedAtMs);
      if (!isUnwinding(stream.speculative, definition)) {
        await this.#waitAlike(task.id, startedAtMs);
        return 'later';
      }
      while (this.#isWaitingToUnwind() && stream.speculative.frontier.tasks.get(task.id)?.retry) {
        await this.#taskEnds();
        signal.throwIfAborted();
      }
      return stream.isHeld && !stop.aborted ? this.#takeOver() : 'later';
    }
    return contentDraft(definition, content, stream.confirmed, this.#effects);
  }

  /** Lets all tasks that might run wait after a crash. */
  async #rest(restMs: number): Promise<'later'> {
    const nowMs = this.#options.ports.clock.nowMs();
    await this.#stageEach((task) => crashRestDraft(task, restMs, this.#effects.timerName(), nowMs));
    return 'later';
  }

  /** Lets all other tasks that might run wait as long as this one: each would bring a probe otherwise. It is no failure of theirs. */
  async #waitAlike(task: TaskId, startedAtMs: number): Promise<void> {
    const { stream } = this.#options;
    const waiting = stream.speculative.frontier.tasks.get(task);
    if (waiting?.retry == null) return;
    await this.#stageEach((other) => waitDraft(other, waiting, this.#effects.timerName(), startedAtMs));
  }

  /** Each is an append of its own, since there may be more of them than one holds; they leave with one flush. */
  async #stageEach(draftOf: (task: TaskState) => Draft): Promise<void> {
    const { stream } = this.#options;
    const accepted = [...stream.speculative.frontier.tasks]
      .filter(isUnblocked)
      .map((task) => stream.stage([draftOf(task)]));
    await this.#flushing.durable(Promise.all(accepted).then(() => {}));
  }

  /**
   * Waits until a task ends. While another task waits for a timer or a signal, it waits one poll period at most, and then polls the log.
   */
  async #taskEnds(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (!this.#awaitsInbox()) return promise;
    const ended = new AbortController();
    void promise.then(() => ended.abort(WOKEN));
    await this.#options.ports.clock.sleep(INBOX_POLL_PERIOD_MS, ended.signal);
    if (!ended.signal.aborted) await this.#options.stream.catchUp();
  }

  /**
   * Whether an event of others could start another task now. A run that appends nothing for a long time would not learn of it otherwise.
   */
  #awaitsInbox(): boolean {
    if (this.#running.size >= this.#options.definition.parallel || this.#options.stop.aborted) return false;
    return awaitsInbox(this.#options.stream.speculative.frontier);
  }

  /** A cancelled run keeps its lease while a task waits to be tried again: until it ends, it is claimed whenever it is free. */
  #isWaitingToUnwind(): boolean {
    const { stream, definition, stop } = this.#options;
    const state = stream.speculative;
    const mayWait = stream.isHeld && state.status === 'open' && !stop.aborted && !isOverBudget(state, definition);
    return (
      mayWait &&
      isUnwinding(state, definition) &&
      state.frontier.tasks.find(({ retry }) => retry !== null) !== undefined
    );
  }

  /** Discards all running attempts without waiting for them. No further task starts. */
  cancel(reason: unknown): void {
    this.#abort.abort(reason);
    this.#attempts.abort(reason);
  }

  /**
   * Whether the workflow is open and still leased here. It may be open without the lease: this run parked it, and a person answered before
   * the run learned that.
   */
  #mayGoOn(): boolean {
    const { stream } = this.#options;
    return stream.confirmed.status === 'open' && stream.isHeld;
  }

  async #end(): Promise<RunEnd> {
    if (this.#hasReleased) return 'stopped';
    if (!this.#mayGoOn()) return 'closed';
    const stopped = this.#options.stop.aborted;
    await this.#flushing.write([releaseDraft(stopped ? 'drain' : 'idle')]);
    return stopped ? 'stopped' : 'idle';
  }

  #startTasks(): void {
    const { definition, stop, stream, onBetween } = this.#options;
    // After a crash one task runs at a time, so that a further crash shows which task kills its workers.
    const parallel = runsAlone(stream.speculative) ? 1 : definition.parallel;
    while (!stop.aborted && !this.#abort.signal.aborted && this.#running.size < parallel) {
      const task = this.#nextTask();
      if (task === undefined) return;
      if (this.#running.size === 0) onBetween?.();
      if (stop.aborted) return;
      const running = this.#runTask(task).then(
        () => this.#forget(task.id),
        (error: unknown) => {
          this.#failure ??= error;
          this.#forget(task.id);
        },
      );
      this.#running.set(task.id, running);
    }
  }

  #nextTask(): TaskState | undefined {
    const { stream, definition } = this.#options;
    if (this.#gate.isClosed || this.#ending.size > 0) return undefined;
    const isWriting = this.#flushing.durableInFlightCount > 0;
    return nextTask(stream, definition, this.#running, isWriting, this.#waivedRetries());
  }

  /** Tasks that waited for their next attempt when the run was cancelled, and have no open call: they only learn of it. */
  #waivedRetries(): ReadonlySet<TaskId> {
    const { stream, definition } = this.#options;
    if (this.#waived === undefined && isUnwinding(stream.speculative, definition)) {
      const waiting = [...stream.speculative.frontier.tasks].filter((task) => !task.effects.some(isOpen));
      this.#waived = new Set(waiting.map(({ id }) => id));
    }
    return this.#waived ?? NONE;
  }

  #forget(task: TaskId): void {
    this.#running.delete(task);
    this.#wake?.();
  }

  async #runTask(task: TaskState): Promise<void> {
    const { definition, content, ports } = this.#options;
    let step: StepDefinition | undefined;
    const startedAtMs = ports.clock.nowMs();
    const ends = this.#attempts.begin(task.id);
    this.#waived?.delete(task.id);
    try {
      const resolved = resolveTask(definition, content.versionOf(task.id), task.step, content.inputOf(task.id));
      step = resolved.step;
      const performed = await attemptStep(resolved, task, ends, this.#effects, this.#options);
      this.#attempts.end(ends);
      try {
        this.#abort.signal.throwIfAborted();
        await this.#commit(resolved, task, performed, startedAtMs);
      } finally {
        performed.result.settled?.(false);
      }
    } catch (error) {
      this.#attempts.end(ends);
      await this.#failed(step, task, error, startedAtMs);
    }
  }

  async #commit(
    { step, input }: ResolvedTask,
    task: TaskState,
    { result, notes, phase }: PerformedStep,
    startedAtMs: number,
  ): Promise<void> {
    const { stream, content, definition, ports } = this.#options;
    if (this.#isVoid(task.id)) return;
    // A task with an open call of its own can't end anything: its commit is refused. Waiting here, it might wait for a call that waits for
    // it.
    if (endsHistory(result) && !hasOpen(stream.speculative, task.id)) {
      await this.#othersSettle(task.id);
    }
    // If the result brings no context, nothing is awaited from here to `stage`, so that nothing else can come in between.
    let context: CommitContext = { ...NO_CONTEXT, spent: spentByTask(stream.speculative, task.id) };
    // The context builds on the current working memory: it is computed again if another task committed while rows were read.
    for (let at = -1; bringsContext(result) && at !== stream.speculative.head.sequence; ) {
      at = stream.speculative.head.sequence;
      const { reads, witness } = this.#options;
      const dependencies = {
        definition,
        context: content.context,
        reads,
        witness,
        phase,
        state: () => stream.speculative,
      };
      context = await commitContext(step.name, task.id, result, dependencies);
    }
    this.#abort.signal.throwIfAborted();
    if (this.#isVoid(task.id)) return;
    const state = stream.speculative;
    const current = state.frontier.tasks.get(task.id) ?? task;
    const drafts = commitDrafts({
      definition,
      step,
      task: current,
      input,
      result,
      notes,
      content,
      state,
      isLast: state.frontier.tasks.size === 1,
      checkpoint: current.reserved ?? this.#newCheckpoint(),
      sequence: (state.head.sequence + 1) as Sequence,
      parent: state.head.checkpoint,
      digest: ports.digest,
      nowMs: ports.clock.nowMs(),
      startedAtMs,
      context,
    });
    const startedMs = ports.clock.monotonicMs();
    const accepted = stream.stage(drafts);
    // Nothing was staged, because an event is too large or the lease is lost, so nothing may follow from it.
    if (stream.speculative === state) await accepted;
    followStaged(content, drafts, current);
    result.settled?.(true);
    if (result.drops !== undefined) this.#abandonDropped();
    this.#releaseIfLast();
    if (drafts.length > 1 && this.#running.size > 1) this.cancel(new FencedError('closed', 'The workflow has ended.'));
    if (step.durability === 'staged' && drafts.length === 1) await this.#flushing.staged(accepted);
    else await this.#flushing.durable(accepted);
    const { telemetry } = ports;
    const seconds = (ports.clock.monotonicMs() - startedMs) / 1_000;
    telemetry.observe('checkpoint_commit_latency_seconds', seconds, undefined, stream.trace);
    telemetry.count('steps_total', 1, { step: step.group ?? step.name }, stream.trace);
  }

  #abandonDropped(): void {
    this.#attempts.abandon([...this.#running.keys()].filter((task) => this.#isDropped(task)));
  }

  /**
   * Waits for the calls of other tasks, and for the checkpoints of running tasks that have called something: the end would drop these, and
   * nothing would say what they did. No task begins meanwhile. Of two that would end the workflow, neither waits for the other.
   */
  async #othersSettle(task: TaskId): Promise<void> {
    const { stream, definition } = this.#options;
    const { signal } = this.#abort;
    this.#ending.add(task);
    try {
      for (;;) {
        await this.#gate.quiet(signal, () => mustBeDecided(stream.speculative, definition, task));
        const isWaitedFor = (id: TaskId): boolean =>
          !this.#ending.has(id) && lastingCall(stream.speculative.frontier.tasks.get(id)) !== undefined;
        const other = [...this.#running].find(([id]) => isWaitedFor(id));
        if (other === undefined) return;
        await other[1];
        signal.throwIfAborted();
      }
    } finally {
      this.#ending.delete(task);
    }
  }

  /**
   * Releases the lease together with the last checkpoint once the run must stop. If that checkpoint is rejected, its own promise reports
   * it.
   */
  #releaseIfLast(): void {
    const { stop, stream } = this.#options;
    if (!stop.aborted || this.#running.size > 1 || stream.speculative.status !== 'open') return;
    this.#hasReleased = true;
    stream.stage([releaseDraft('drain')]).catch(() => {});
  }

  /**
   * Whether the attempt must be discarded: the task waits for a confirmation or was dropped, or the workflow was pinned to another version
   * meanwhile.
   */
  #isVoid(task: TaskId): boolean {
    const { definition, stream } = this.#options;
    return !canRun(definition, stream.speculative) || isSuspended(stream.speculative, task) || this.#isDropped(task);
  }

  #isDropped(task: TaskId): boolean {
    return this.#options.stream.speculative.frontier.tasks.get(task) === undefined;
  }

  #newCheckpoint() {
    const { clock, prng } = this.#options.ports;
    return checkpointId(uuidv7(clock.nowMs(), prng.bytes(10)));
  }

  async #drain(): Promise<void> {
    this.#flushing.now();
    await this.#options.stream.settled();
    if (this.#options.stream.fenced !== undefined) throw this.#options.stream.fenced;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Decides what follows from a failed attempt: nothing (it is discarded), a question to a person, the end of the workflow, or another
   * attempt.
   */
  async #failed(
    step: StepDefinition | undefined,
    task: TaskState,
    thrown: unknown,
    startedAtMs: number,
  ): Promise<void> {
    const { stream } = this.#options;
    if (stream.fenced !== undefined) throw stream.fenced;
    // The run has ended, or the step was abandoned: the attempt is discarded.
    if (this.#abort.signal.aborted || thrown instanceof StepAbandonedError) return;
    if (thrown instanceof FencedError) throw thrown;
    if (isSuspended(stream.speculative, task.id) || this.#isDropped(task.id)) return;
    // It is confirmed by now, and the task may run again.
    if (thrown instanceof SuspendedError) return;
    // A broken invariant of the engine is no failure of the step: it ends the run and is reported, and another worker continues.
    if (thrown instanceof TidemarkError && thrown.code === 'invariant-broken') throw thrown;
    // The cancelled workflow is about to end, whatever the attempt came to; the state shows which calls are open.
    if (stream.speculative.ruling === 'cancel' && !isUnwinding(stream.speculative, this.#options.definition)) return;
    const error = this.#effects.hideSecrets(`step ${task.step}`, thrown);
    // Nobody is asked how a cancelled run goes on.
    const givesUp = stream.speculative.ruling === 'cancel';
    const cancel = (): Draft => cancelDraft(stream.speculative, this.#options.definition, error);
    if (error instanceof ParkError) return this.#endRun(() => [givesUp ? cancel() : parkDraft(error, task.id)]);
    if (error instanceof CompensateError) return this.#endRun(() => [undoDraft(stream.speculative, task.id, error)]);
    const current = stream.speculative.frontier.tasks.get(task.id) ?? task;
    const { definition, content, build, ports } = this.#options;
    const { onFailure } = definition;
    const timerName = this.#effects.timerName();
    const input = (): Json => content.inputOf(task.id);
    const attempt = { step, task: current, error, timerName, startedAtMs, onFailure, build, input };
    const drafts = failureDrafts(attempt, ports);
    if (drafts.length === 1) return this.#flushing.write(drafts);
    return this.#endRun(() =>
      givesUp ? [...drafts.slice(0, -1), cancel()] : onceDecided(stream.speculative, definition, task.id, drafts),
    );
  }

  /**
   * Ends the run with the drafts that `drawUp` returns once no effect is running. It does nothing if the run has ended otherwise by then.
   */
  async #endRun(drawUp: () => readonly Draft[]): Promise<void> {
    const { signal } = this.#abort;
    const ending = this.#gate.quiet(signal, async () => {
      const summary = await failureSummary(drawUp().at(-1)!, this.#options);
      if (!signal.aborted) await this.#writeLast(drawUp(), summary);
    });
    await ending.catch((error: unknown) => {
      if (!signal.aborted || error !== signal.reason) throw error;
    });
  }

  /** Appends the drafts that end the lease, and discards every other running attempt. */
  async #writeLast(drafts: readonly Draft[], summary?: MemoryWrite): Promise<void> {
    const accepted = this.#options.stream.stage(withFailureSummary(drafts, summary));
    this.cancel(new FencedError('closed', 'The workflow has ended, or waits for a person.'));
    await this.#flushing.durable(accepted);
  }
}
