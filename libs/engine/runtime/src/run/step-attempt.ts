/**
 * Owns one attempt at a step: what the step sees and may do while it runs, and what it returned, which is all that a step changes. It
 * neither commits the result nor judges a failure: the runner does.
 *
 * S1 Nothing begins once the attempt has ended, and no step that catches all errors gets past a stop.
 */

import { type LogNote, toJson } from '@tidemark/codec';
import {
  BUDGET_EXCEEDED,
  type Epoch,
  InvalidError,
  type Json,
  LimitError,
  type TaskId,
  type TaskState,
  uuidv7,
} from '@tidemark/core';
import { type ModelCalls, mayBringSummaries, withSummaries } from '../agent/index.ts';
import {
  CallWaitError,
  causeOf,
  type Definition,
  type EffectDefinition,
  type ModelAnswer,
  type ModelRequest,
  outOfScope,
  ParkError,
  type PhaseMemory,
  type Progress,
  type RecalledMemories,
  type RecallOptions,
  type RunOptions,
  type StepContext,
  type StepDefinition,
  type StepResult,
} from '../definition/index.ts';
import {
  type AttemptEnds,
  CALLS_UNORDERED,
  type Drain,
  EffectJournal,
  type EffectRun,
  hasOpen,
  REQUEST_CHANGED,
  RUN_AWAY_LOOP,
} from '../effects/index.ts';
import { type ContextReads, type ResolvedTask, type StreamContent, shiftOf } from '../history/index.ts';
import { EFFECT_NOT_RECORDED, type Ports, stepSpan, traceParentOf } from '../kernel/index.ts';
import { type LeasedStream, policyOf, verdictOf } from '../lease/index.ts';

/** Most entries that one step may add to the execution log. */
const LOG_NOTES_MAX = 1_000;

export interface AttemptDependencies {
  readonly ports: Pick<Ports, 'clock' | 'prng' | 'telemetry'>;
  readonly definition: Definition;
  readonly stream: LeasedStream;
  readonly content: StreamContent;
  /** Receives every attempt, and may abandon one while the worker drains. */
  readonly drain?: Pick<Drain, 'begin'> | undefined;
  readonly onProgress?: ((task: TaskId | null, progress: Progress & { readonly step: string }) => void) | undefined;
  /** Reads the outputs of a step's committed tasks, once rows have everything that the holder has written. */
  readonly readOutputs: StepContext['outputs'];
  readonly readJournal: StepContext['journal'];
  /** Reads long-term memory, once rows have everything that the holder has written. */
  readonly readMemories: StepContext['memories'];
  readonly recall: (question: string, options: RecallOptions, signal: AbortSignal) => Promise<RecalledMemories>;
  readonly reads: ContextReads;
  readonly models: ModelCalls;
}

/** What an attempt returned. */
export interface PerformedStep {
  readonly result: StepResult;
  readonly notes: readonly LogNote[];
  readonly phase: string | undefined;
}

/**
 * Codes that stop a step even if it catches the error: its budget is spent, its agent runs in circles, a replay lacks a record, or its calls
 * can't be matched to what is recorded.
 */
const STOPS: readonly string[] = [
  BUDGET_EXCEEDED,
  RUN_AWAY_LOOP,
  EFFECT_NOT_RECORDED,
  REQUEST_CHANGED,
  CALLS_UNORDERED,
];

/** What waits for its turn alone has not failed: a step that catches errors must not take it for an answer. */
const isStop = (error: unknown): boolean => {
  const cause = causeOf(error);
  return cause instanceof CallWaitError ? cause.isTurn : error instanceof ParkError && STOPS.includes(error.code);
};

/**
 * Runs the step once, and resolves with what it returned. `ends` discards this attempt alone. Rejects with the step's error, with the stop
 * that it met, or with the reason for which the attempt was discarded.
 */
export async function attemptStep(
  { step, input }: ResolvedTask,
  task: TaskState,
  ends: AttemptEnds,
  effects: EffectRun,
  dependencies: AttemptDependencies,
): Promise<PerformedStep> {
  const { definition, drain, onProgress, stream, ports } = dependencies;
  const drained = drain?.begin(definition.name, step.name, {
    abandon: (reason) => ends.abort(reason),
    isCalling: () => hasOpen(stream.speculative, task.id),
  });
  let attempt: Attempt | undefined;
  const journal = new EffectJournal(effects, task.id, ends, (about) => attempt?.warn(about));
  let isWhole = false;
  try {
    const memory = await phaseMemory(step.name, dependencies);
    const report = (progress: Progress): void => {
      drained?.progress(progress);
      onProgress?.(task.id, { ...progress, step: step.name });
    };
    attempt = new Attempt(step, task, ends, journal, memory, report, dependencies);
    const context = attempt;
    const run = (): ReturnType<typeof step.run> => journal.within(() => step.run(context, input));
    const { within } = ports.telemetry;
    const running = within === undefined ? run() : within(() => context.traceparent, run);
    const result = (await ends.unlessOver(Promise.resolve(running))) ?? {};
    attempt.end();
    attempt.throwStop();
    const whole = mayBringSummaries(result)
      ? await withSummaries(result, task, journal, { ...dependencies, signal: ends.over })
      : result;
    isWhole = true;
    return { result: whole, notes: attempt.notes, phase: memory.phase };
  } finally {
    attempt?.end();
    drained?.end(isWhole);
    const closing = journal.close();
    if (closing !== undefined) await closing;
  }
}

/** The context that the step receives. */
class Attempt implements StepContext {
  readonly notes: LogNote[] = [];
  readonly workflow: StepContext['workflow'];
  readonly task: StepContext['task'];
  readonly step: string;
  readonly claim: object;
  readonly sequence: StepContext['sequence'];
  readonly attempt: number;
  readonly cancelled: StepContext['cancelled'];
  readonly hasCalled: boolean;
  readonly session: StepContext['session'];
  readonly user: StepContext['user'];
  readonly input: Json;
  readonly belief: Json;
  readonly cause: StepContext['cause'];
  readonly memory: PhaseMemory;
  readonly memories: StepContext['memories'];
  readonly outputs: StepContext['outputs'];
  readonly journal: StepContext['journal'];
  readonly progress: (progress: Progress) => void;
  readonly #ends: AttemptEnds;
  readonly #journal: EffectJournal;
  readonly #dependencies: AttemptDependencies;
  readonly #epoch: Epoch;
  readonly #tried: Pick<ResolvedTask, 'step'> & { readonly task: TaskState };
  #irreversibleCount = 0;
  #stop: Error | undefined;
  #isOver = false;

  /** `step`: the step as this version of the definition has it; its name may differ from the task's. */
  constructor(
    step: StepDefinition,
    task: TaskState,
    ends: AttemptEnds,
    journal: EffectJournal,
    memory: PhaseMemory,
    progress: (progress: Progress) => void,
    dependencies: AttemptDependencies,
  ) {
    const { definition, stream, content, readMemories, readOutputs, readJournal } = dependencies;
    const { workflow, session, user, epoch, head, ruling, cancel } = stream.speculative;
    this.workflow = workflow;
    this.session = session;
    this.user = user;
    this.task = task.id;
    this.step = step.name;
    this.claim = stream;
    this.sequence = (head.sequence +
      (content.fork === undefined ? 0 : shiftOf(content.fork))) as StepContext['sequence'];
    this.#tried = { step, task };
    this.attempt = task.failureCount + 1;
    this.hasCalled = task.effects.length > 0;
    this.cancelled = ruling === 'cancel' && definition.unwinds === true ? cancel : undefined;
    this.input = content.input;
    this.belief = content.belief;
    this.cause = content.givenTo(task);
    this.memory = memory;
    this.memories = readMemories;
    this.outputs = readOutputs;
    this.journal = readJournal;
    this.progress = progress;
    this.#ends = ends;
    this.#journal = journal;
    this.#dependencies = dependencies;
    this.#epoch = epoch;
  }

  /** Computed when it is read, since most steps never ask for it. */
  get traceparent(): string {
    const span = stepSpan(this.workflow, this.task, this.#epoch, this.attempt);
    return traceParentOf(this.workflow, span, this.#dependencies.ports.telemetry.traceRatio);
  }

  mayRetry(error: unknown): boolean {
    const { step, task } = this.#tried;
    const current = this.#dependencies.stream.speculative.frontier.tasks.get(task.id) ?? task;
    return verdictOf(current, error, policyOf(error, step), this.#dependencies.ports.clock.nowMs()).isRetried;
  }

  stored(value: Json): Json {
    return value;
  }

  clockMs(): number {
    return this.#dependencies.ports.clock.nowMs();
  }

  pause(ms: number, signal: AbortSignal): Promise<void> {
    return this.#dependencies.ports.clock.sleep(ms, signal);
  }

  chance(): string {
    return Buffer.from(this.#dependencies.ports.prng.bytes(16)).toString('hex');
  }

  get signal(): AbortSignal {
    return this.#ends.stepSignal;
  }

  async run(name: string, body: (signal: AbortSignal) => unknown, options: RunOptions = {}): Promise<Json> {
    return this.#heeding(this.#open.run(name, body, options));
  }

  async now(options?: RunOptions): Promise<number> {
    const { clock } = this.#dependencies.ports;
    return (await this.run('ctx.now', () => clock.nowMs(), options)) as number;
  }

  async random(options?: RunOptions): Promise<number> {
    const { prng } = this.#dependencies.ports;
    // As many bits as a number between 0 and 1 has.
    const draw = () => Number(Buffer.from(prng.bytes(8)).readBigUInt64BE() >> 11n) / 2 ** 53;
    return (await this.run('ctx.random', draw, options)) as number;
  }

  async uuid(options?: RunOptions): Promise<string> {
    const { clock, prng } = this.#dependencies.ports;
    return (await this.run('ctx.uuid', () => uuidv7(clock.nowMs(), prng.bytes(10)), options)) as string;
  }

  async effect(effect: EffectDefinition, request: unknown, options: RunOptions = {}): Promise<Json> {
    const { question } = options;
    const called = question === undefined ? effect : this.#dependencies.models.counted(this.task, effect, question);
    if (called.kind === 'irreversible' && ++this.#irreversibleCount === 2) {
      this.log('warning', irreversibleTogether(this.step));
    }
    return this.#heeding(this.#open.effect(called, request, options));
  }

  async modelCall(request: ModelRequest): Promise<ModelAnswer> {
    const journal = this.#open;
    const { effect, asked } = this.#dependencies.models.effect(this.task, request, this.#ends.over);
    const { name } = request;
    const answering = journal.effect(effect, asked, name === undefined ? {} : { name });
    return (await this.#heeding(answering)) as unknown as ModelAnswer;
  }

  async recall(question: string, options: RecallOptions = {}): Promise<RecalledMemories> {
    const asked = (signal: AbortSignal) => this.#dependencies.recall(question, options, signal);
    const request = toJson({ question, ...options }, 'what ctx.recall is asked');
    return (await this.#heeding(this.#open.run('recall', asked, {}, request))) as unknown as RecalledMemories;
  }

  log(action: string, detail?: unknown): void {
    if (this.notes.length >= LOG_NOTES_MAX) {
      throw new LimitError('log-notes', `Step ${this.step}: at most ${LOG_NOTES_MAX} log entries fit in one step.`);
    }
    const atMs = this.#dependencies.ports.clock.nowMs();
    this.notes.push(detail === undefined ? { atMs, action } : { atMs, action, detail: toJson(detail, 'log detail') });
  }

  /** A warning has no place where the step has filled the log. */
  warn(about: { readonly code: string; readonly result: string }): void {
    if (this.notes.length < LOG_NOTES_MAX) this.log('warning', about);
  }

  end(): void {
    this.#isOver = true;
  }

  throwStop(): void {
    if (this.#stop !== undefined) throw this.#stop;
  }

  /** The journal. Throws `InvalidError` (`step-ended`) after the end, when only code that kept the context can call. */
  get #open(): EffectJournal {
    if (this.#isOver) throw stepEnded(this.step);
    return this.#journal;
  }

  /** Settles as the call does, and remembers a stop (S1). */
  async #heeding<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (isStop(error)) this.#stop ??= error as Error;
      throw error;
    }
  }
}

const stepEnded = (step: string): InvalidError =>
  new InvalidError(
    'step-ended',
    `Step ${step} has ended: its ctx records nothing any more. Await what it calls; a compensation has its own context, and can't call a model.`,
    { step },
  );

/** The warning that the author reads in the step's history: nothing can know beforehand which effects a step will call. */
const irreversibleTogether = (step: string) => ({
  code: 'irreversible-together',
  result: `Step ${step} calls several irreversible effects. One that fails leaves those before it done, with no checkpoint between them: give each a step of its own.`,
});

const NO_PHASES: PhaseMemory = {
  phase: undefined,
  keys: [],
  get: (key) => {
    throw outOfScope({ phase: '', memory: {}, gone: {} }, key, 'ctx.memory (the definition has no phases)');
  },
};

/** The working memory at the beginning of the step. */
async function phaseMemory(step: string, dependencies: AttemptDependencies): Promise<PhaseMemory> {
  const { definition, stream, content, reads, ports } = dependencies;
  const firstPhase = definition.context?.firstPhase;
  if (firstPhase === undefined) return NO_PHASES;
  const { workflow, head } = stream.speculative;
  const scope = await content.context.scope(reads, workflow, head.sequence, firstPhase);
  return {
    phase: scope.phase,
    keys: Object.keys(scope.memory).sort(),
    get: (key) => {
      if (Object.hasOwn(scope.memory, key)) return scope.memory[key]!;
      ports.telemetry.count('memory_scope_violations_total', 1, { phase: scope.phase });
      throw outOfScope(scope, key, `${definition.name}, step ${step}`);
    },
  };
}
