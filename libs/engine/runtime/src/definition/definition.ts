/**
 * Owns what the runtime knows of a user's workflow once the SDK has removed types and schemas: data in, data out, validated at every
 * border. It knows neither zod nor how the SDK spells any of this.
 */

import type { MemoryWrite, Payloads } from '@tidemark/codec';
import type {
  BundlePolicy,
  Cause,
  Controls,
  Dispatch,
  EffectKey,
  EffectKind,
  Fragment,
  FragmentParts,
  Json,
  ParentClosePolicy,
  RecoveryOptions,
  Sequence,
  Spend,
  TaskId,
  Tokenizer,
  WorkflowId,
} from '@tidemark/core';
import type { CallScope } from '@tidemark/ports';
import type { OnSecret, RetryPolicy } from '../kernel/index.ts';
import type { Model, ModelAnswer, ModelRequest } from './model.ts';
import type { HandOver, PhaseDefinition } from './working-memory.ts';

/** Returns the stored form of a secret field's value (see secrets.ts). */
export type Seal = (value: Json) => string;

/** Validates a value at a border. With `seal`, the result has its secret fields sealed. Throws `InvalidError`, which names the path. */
export type Parse = (value: unknown, seal?: Seal) => Json;

/** How a person is asked for an approval. */
export interface ApprovalOptions {
  /** Who is to answer, by the names that callers use. Absent: anyone who has the right. */
  readonly assignee?: string | undefined;
  /** The question, in one line. */
  readonly title?: string | undefined;
  /** What the person needs to know for the answer: JSON. */
  readonly detail?: unknown;
  /** What the form begins with, and the answer of whoever changes nothing: JSON. */
  readonly preset?: unknown;
}

/** What a task may wait for besides other tasks. */
export type WaitRequest<Signal extends string = string> =
  | { readonly kind: 'signal'; readonly name: Signal }
  /** The end of another workflow, which is started for the task. */
  | {
      readonly kind: 'child';
      readonly name: Signal;
      readonly definition?: Definition | undefined;
      readonly input: unknown;
      readonly isVital?: true | undefined;
      readonly onClose: ParentClosePolicy;
    }
  /** A person's answer. */
  | ({ readonly kind: 'approval'; readonly name: Signal } & ApprovalOptions)
  /** A delay in milliseconds from when the task is added. */
  | { readonly kind: 'timer'; readonly delayMs: number }
  /** A moment in milliseconds since the Unix epoch, by the coordinators' clocks. A moment in the past fires at once. */
  | { readonly kind: 'at'; readonly atMs: number };

/** A task that a step (or the opening) adds. `after` may name sibling requests or ids of earlier tasks. */
export interface TaskRequest {
  readonly step: string;
  readonly input: unknown;
  readonly after?: readonly (TaskRequest | TaskId)[] | 'all' | undefined;
  /** Any one of these conditions is enough; absent: the task waits for none. */
  readonly when?: { readonly anyOf: readonly WaitRequest[] } | undefined;
}

export type ProbeResult<Response> =
  | { readonly status: 'done'; readonly response: Response }
  | { readonly status: 'not-done' }
  | { readonly status: 'unknown' };

export interface EffectContext {
  /** Idempotency key: the same for every attempt at the same effect, on every worker. */
  readonly key: EffectKey;
  /** Aborts on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Reports that the call makes progress: it may take `heartbeatTimeoutMs` more from now. Progress is shown, not stored. */
  readonly heartbeat: (progress?: Progress) => void;
}

export interface ProbeContext {
  /** Aborts on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** The request that was sent with the key. */
  readonly request: Json;
}

/** The result of a call whose outcome is confirmed later: the receiver has accepted it under this token. */
export class PendingResult {
  /** Identifies the effect in its confirmation, 1..512 characters. */
  readonly token: string;
  /** Shown to the person or program that confirms it: JSON. */
  readonly detail: unknown;

  constructor(token: string, detail: unknown = null) {
    this.token = token;
    this.detail = detail;
  }
}

/** How an effect that returned `PendingResult` is followed up. */
export interface ConfirmationPolicy {
  /** Time between two probes, in milliseconds. It has no meaning for an effect without a probe. */
  readonly probeEveryMs: number;
  /** Time in milliseconds after which an unconfirmed effect is parked for a person. */
  readonly timeoutMs: number;
}

/** What is recorded of the prompt of a model call: another attempt sends the same. */
export type RecordedPrompt = Pick<Payloads['EffectIntended'], 'bundle' | 'sent'>;

/** What an intention records beside its request, computed just before the call. */
export interface PreparedCall {
  readonly control: Pick<Controls['EffectIntended'], 'model' | 'question' | 'hasContext'>;
  readonly payload: Pick<
    Payloads['EffectIntended'],
    'bundle' | 'prompt' | 'tools' | 'schema' | 'sent' | 'texts' | 'sends'
  >;
  /** Runs once the intention is in the log and before the call; throws if the call must not be made after all. */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** A call that sends what is recorded, with both requests in full, to be compared. */
export interface RecordedAsk {
  readonly effect: EffectDefinition;
  readonly before: Json;
  readonly now: Json;
}

/** An action on the outside world, defined once, so that recovery needs no closure of a dead process. */
export interface EffectDefinition {
  readonly operation: string;
  readonly kind: EffectKind;
  readonly timeoutMs: number;
  /** Longest time between two heartbeats of a call, in milliseconds; undefined: no heartbeats are expected. */
  readonly heartbeatTimeoutMs?: number | undefined;
  readonly confirm: ConfirmationPolicy;
  readonly retry: RetryPolicy;
  /** Whom it calls, for people; absent: the operation. */
  readonly receiver?: string | undefined;
  /** What a call with this request shares with others; absent: the operation alone, without limits. */
  readonly scopesOf?: ((request: Json) => readonly CallScope[] | Promise<readonly CallScope[]>) | undefined;
  readonly parseRequest: Parse;
  readonly parseResponse: Parse;
  /** The request or the response has fields that are marked as secret. */
  readonly hasSecrets?: boolean | undefined;
  /** For one call: what the call and its probes receive, when that differs from the recorded request; absent: the recorded request. */
  readonly asked?: Json | undefined;
  /**
   * The key as calls and probes send it, by the effect's own key and the request as they get it; absent: the effect's own, as the ledger
   * has it all the same.
   */
  readonly sentKey?: ((key: EffectKey, request: Json) => string) | undefined;
  /**
   * What follows when an attempt asks something else than is recorded under the call's key: the recorded request is sent, or its outcome
   * given. Absent: a person is asked.
   */
  readonly onChanged?: 'send-recorded' | undefined;
  /**
   * Of a call whose recorded request is not all that it sends: the same for it. `isAnswered`: nothing is sent any more. Throws
   * `InvalidError` that says why what is recorded can't be sent.
   */
  readonly asRecorded?:
    | ((intended: Payloads['EffectIntended'], isAnswered: boolean) => Promise<RecordedAsk>)
    | undefined;
  /** Whether a recorded request that failed was one of another call, which this one was made instead of; absent: it never was. */
  readonly isAnother?: ((recorded: Json) => boolean) | undefined;
  /** Turns an answer into what is recorded and given to the step; absent: the answer itself. */
  readonly recorded?: ((response: Json) => Json) | undefined;
  readonly call: (request: Json, context: EffectContext) => Promise<unknown>;
  readonly probe?: ((key: EffectKey, context: ProbeContext) => Promise<ProbeResult<unknown>>) | undefined;
  /** A `not-done` from the probe also makes the receiver refuse a late call with that key, so recovery need not wait for one. */
  readonly probeFences?: boolean | undefined;
  /** `call`: a holder that fell silent counts as gone, so its call may come beside a second one. Absent: a person is asked. */
  readonly afterSilence?: 'call' | undefined;
  /** Undoes the effect, given its response; may be called more than once with the same key. */
  readonly compensate?: ((response: Json, context: EffectContext) => Promise<void>) | undefined;
  /** Undoes an effect that may or may not have happened, given its request. */
  readonly compensateUnknown?: ((request: Json, context: EffectContext) => Promise<void>) | undefined;
  /**
   * `recorded` is of an earlier intention of the same call: the call then sends the same again. `isAnswered`: nothing is called,
   * since a record answers, so no limit counts.
   */
  readonly prepare?:
    | ((key: EffectKey, recorded: RecordedPrompt | undefined, isAnswered?: boolean) => Promise<PreparedCall>)
    | undefined;
  /** What a call cost, by its recorded response; and what a call cost that failed with the error. */
  readonly spentOf?: ((response: Json) => Spend) | undefined;
  readonly lostOf?: ((error: unknown) => Spend) | undefined;
  /** There is nothing to do outside: a failed call is certainly not done, and another call repeats nothing. */
  readonly changesNothing?: boolean | undefined;
}

export interface RunOptions {
  /**
   * Distinguishes calls of the step that are the same otherwise. Without it an effect is known by its request, and a closure by the calls
   * that led to it.
   */
  readonly name?: string;
  /** The question of an effect by which an agent could run in circles. The workflow is stopped when it is asked too often. */
  readonly question?: Json;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly text?: string | undefined;
}

/** A fragment as a step adds it. */
export interface FragmentDraft extends Pick<Fragment, 'type' | 'text' | 'call' | 'tool' | 'covers'> {
  readonly parts?: Omit<FragmentParts, 'digest'>;
}

export interface MemoryQuery {
  /** The owner of the memory: `user:ana`, `pipeline:content`. */
  readonly subject: string;
  readonly kind: MemoryWrite['kind'];
  readonly key?: string | undefined;
  readonly prefix?: string | undefined;
  /** Default: 100. */
  readonly limit?: number | undefined;
}

/** A search of long-term memory by a step. */
export interface RecallOptions {
  /** Subjects: `user:ana`, `domain:food`, `tenant:acme`. Default: the workflow's user, the definition's domains and the tenant. */
  readonly about?: readonly string[] | undefined;
  /** Default: facts and summaries of sessions. */
  readonly kinds?: readonly MemoryWrite['kind'][] | undefined;
  /** Default: 3. At most 50. */
  readonly limit?: number | undefined;
}

/** The memories that fit a question, best first. */
export interface RecalledMemories {
  readonly entries: readonly (MemoryEntry & {
    readonly about: string;
    readonly kind: MemoryWrite['kind'];
    /** The text that was searched; for a fact, its sentence. */
    readonly text: string;
    /** From 0 to 1; comparable within one answer. */
    readonly score: number;
  })[];
  readonly by: 'words' | 'words+meaning';
  /** Why only words were compared, or why nothing could be; null: meaning counted as well. */
  readonly warning: string | null;
}

/** One entry of long-term memory. */
export interface MemoryEntry {
  readonly key: string;
  readonly value: Json;
  readonly source: string;
  /** When it was written, by the clock of its writer. */
  readonly atMs: number;
}

/** Working memory of the step's phase, as it was when the step began. */
export interface PhaseMemory {
  /** Undefined for definitions without phases. */
  readonly phase: string | undefined;
  readonly keys: readonly string[];
  /** Throws `InvalidError` (`memory-out-of-scope`) for a key that the phase doesn't hold; such reads are counted. */
  get(key: string): Json;
}

/** What a step receives. Its methods are called on it: one that is taken off it, or a copy of it, does not work. */
export interface StepContext {
  /** The session that the workflow belongs to, and its user. */
  readonly session: string | undefined;
  readonly user: string | undefined;
  readonly memory: PhaseMemory;
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  readonly step: string;
  /** The same for all steps of one claim of the workflow: what a definition keeps for it in memory is valid as long as that. */
  readonly claim: object;
  /** The newest checkpoint when the attempt began. */
  readonly sequence: Sequence;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Whether an earlier attempt has called an effect. */
  readonly hasCalled: boolean;
  /** Set where the workflow is cancelled and its definition unwinds: why, and by whom. */
  readonly cancelled: { readonly code: string; readonly by: string } | undefined;
  /** Whether the step is run again after this error. */
  mayRetry(error: unknown): boolean;
  /** W3C `traceparent` of this attempt: spans that are started with it lie below this step in the workflow's trace. */
  readonly traceparent: string;
  /** The workflow's own input. */
  readonly input: Json;
  /** Belief as it was when the step began. */
  readonly belief: Json;
  /** The condition that made the task runnable, with the value that came. */
  readonly cause: (Cause & { readonly value: Json }) | null;
  /**
   * Aborts when the lease is lost or the worker must stop: the step should then stop, because nothing more of this attempt counts. It also
   * aborts when the workflow is cancelled (the reason is a `WorkflowCancelledError`): the step may then finish within the grace, and its
   * result counts.
   */
  readonly signal: AbortSignal;
  /** The value as a checkpoint's output would hold it: with secrets masked, where the policy wants that. Throws as a commit would. */
  stored(value: Json): Json;
  /** The worker's clock in milliseconds, a sleep by it, and 32 hexadecimal digits by chance. None is recorded. */
  clockMs(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
  chance(): string;
  /** Runs a closure whose result is journaled: a later attempt at this step gets the recorded value. Kind `pure`. */
  run(name: string, body: (signal: AbortSignal) => unknown, options?: RunOptions): Promise<Json>;
  /** The time in milliseconds, a number from 0 to below 1, a UUID: recorded as the result of a closure is. */
  now(options?: RunOptions): Promise<number>;
  random(options?: RunOptions): Promise<number>;
  uuid(options?: RunOptions): Promise<string>;
  /**
   * Calls an effect at most once for its key: the intention is recorded before and the outcome after, and a recorded outcome is not
   * repeated.
   */
  effect(effect: EffectDefinition, request: unknown, options?: RunOptions): Promise<Json>;
  /** Asks a model, as an effect: the intention records the prompt, the outcome records the answer, and the call is paid for once. */
  modelCall(request: ModelRequest): Promise<ModelAnswer>;
  /** Reads long-term memory, by key. */
  memories(query: MemoryQuery): Promise<readonly MemoryEntry[]>;
  /** Searches long-term memory. The result is journaled, so a later attempt at this step gets the same. */
  recall(question: string, options?: RecallOptions): Promise<RecalledMemories>;
  /** Adds to the execution log, stored with the step's checkpoint. */
  log(action: string, detail?: unknown): void;
  /** Shows progress to those who watch; not stored. */
  progress(progress: Progress): void;
  /** Outputs of all committed tasks of a step of this workflow, in order of the tasks' creation. */
  outputs(step: string): Promise<readonly Json[]>;
  /** What checkpoints after this one have in their journals, in their order. */
  journal(after: Sequence): Promise<readonly Journaled[]>;
}

/** What a checkpoint keeps for its definition, and the output of its step. */
export interface Journaled {
  readonly step: string;
  readonly journal: Json;
  readonly output: Json;
}

/** All that a step changes. */
export interface StepResult {
  /** Applied to the belief at commit, so updates of parallel steps compose. */
  readonly belief?: ((belief: Json) => unknown) | undefined;
  readonly next?: readonly TaskRequest[] | undefined;
  /** Kept with the checkpoint; a later step reads it with `ctx.outputs`. */
  readonly output?: unknown;
  /** JSON that the checkpoint keeps for the definition itself: steps read it with `ctx.journal`, and it is shown to nobody. */
  readonly journal?: Json | undefined;
  /** Ends the workflow with this output. */
  readonly done?: unknown;
  /** Ends this run: the workflow continues as a new run with this input. */
  readonly continueAsNew?: unknown;
  /** What the step did, in words; default: the step's name. */
  readonly lastAction?: string | undefined;
  readonly tokens?: number | undefined;
  readonly costMicros?: number | undefined;
  /** The earlier checkpoint of this workflow that this one corrects. */
  readonly supersedes?: Sequence | undefined;
  /** What was heard, said or done: later model calls see it. */
  readonly fragments?: readonly FragmentDraft[] | undefined;
  /** Keys of the phase's working memory to set; undefined removes one. */
  readonly memory?: Readonly<Record<string, unknown>> | undefined;
  /** Ends the phase. */
  readonly handOver?: HandOver | undefined;
  /** Changes of long-term memory. */
  readonly memories?: readonly MemoryUpdate[] | undefined;
  /** Which other pending tasks leave the frontier undone: none that has called anything, or that waits for a child. Called at commit. */
  readonly drops?: ((task: { readonly step: string; readonly input: Json }) => boolean) | undefined;
  /** Called once: when the checkpoint has its place in the log's order (true), or when the result is discarded (false). */
  readonly settled?: ((isStaged: boolean) => void) | undefined;
}

/** A change of long-term memory. Without a value, it deletes the entry. */
export interface MemoryUpdate extends Omit<MemoryWrite, 'value'> {
  readonly value?: unknown;
}

/** A limit of spending; undefined: none. Tokens count input and output. */
export interface Budget {
  readonly tokens?: number | undefined;
  readonly costMicros?: number | undefined;
}

/** A definition's settings of context and budgets. */
export interface ContextDefinition {
  /** By bundle type. */
  readonly bundles: ReadonlyMap<string, BundlePolicy>;
  /** The system text. It depends on the workflow's input alone, so it stays the same for the workflow's life. */
  readonly system: ((input: Json) => string) | undefined;
  readonly phases: ReadonlyMap<string, PhaseDefinition>;
  /** The phase that workflows begin in; undefined: there are none. */
  readonly firstPhase: string | undefined;
  /** Counts the tokens of working memory. */
  readonly tokenizer: Tokenizer;
  readonly budgets: { readonly call: Budget; readonly step: Budget; readonly workflow: Budget };
  /** How often one question may be asked before the workflow is stopped as running in circles. */
  readonly repeatsMax: number;
  /** Domains whose facts the workflow's bundles and recalls include. */
  readonly domains?: readonly string[] | undefined;
  /** Share of the sessions into whose bundles nothing is recalled, from 0 to 1; absent: sessions are not compared. */
  readonly recallControlShare?: number | undefined;
  /** Writes summaries; undefined: a rule makes them without a model. */
  readonly summaryModel: Model | undefined;
}

export interface StepDefinition {
  readonly name: string;
  /** Names its tasks together in metrics; absent: its name does. */
  readonly group?: string | undefined;
  /** Steps whose tasks it may add. */
  readonly mayAdd: ReadonlySet<string>;
  /**
   * `durable`: the workflow continues once the log has the checkpoint. `staged`: it continues at once, within the staging limits, and a
   * crash repeats the staged steps.
   */
  readonly durability: 'durable' | 'staged';
  readonly retry: RetryPolicy;
  /** The step plans what to do next: its span is a `plan`. */
  readonly plans?: boolean | undefined;
  readonly parseInput: Parse;
  readonly parseOutput: Parse;
  readonly run: (context: StepContext, input: Json) => Promise<StepResult> | StepResult;
  /** Undoes the committed step, given its input and output; may be called more than once with the same key. */
  readonly compensate?:
    | ((done: { readonly input: Json; readonly output: Json }, context: EffectContext) => Promise<void>)
    | undefined;
}

/** The form of a signal's value. */
export interface SignalForm {
  /** JSON Schema for programs that show or build a value. It leaves open what JSON Schema cannot express. */
  readonly schema: Json;
  readonly parse: Parse;
}

/** Converts the state of a workflow from one version of a definition to the next. */
export interface Upcaster {
  /** Converts the workflow's input; undefined: it stays the same. */
  readonly input?: ((input: Json) => unknown) | undefined;
  readonly belief: (belief: Json) => unknown;
  /** Receives the step's old name and the task's input; returns the step and the input that do the same in the next version. */
  readonly task: (step: string, input: Json) => { readonly step: string; readonly input: unknown };
}

/** `Input` and `Output` exist only in the SDK's types. `types` carries them and is never set at run time. */
export interface Definition<Input = unknown, Output = unknown> {
  readonly types?: { readonly input: Input; readonly output: Output };
  readonly name: string;
  readonly version: number;
  /** The most tasks of one workflow that run at once. */
  readonly parallel: number;
  /** How many staged steps a crash may repeat; default: `STAGED_STEPS_DEFAULT_COUNT`, `STAGED_DELAY_DEFAULT_MS`. */
  readonly staging?: { readonly steps?: number | undefined; readonly delayMs?: number | undefined } | undefined;
  /** Absent: a partition of its own, but a child joins its parent's before the pool grows. */
  readonly placement?: 'exclusive' | 'shared' | undefined;
  readonly steps: ReadonlyMap<string, StepDefinition>;
  /** Effects that recovery and compensation find by operation, without the step that called them. */
  readonly effects: readonly EffectDefinition[];
  /**
   * What happens to a workflow whose step fails for good. `park`: a person is asked; failures that are marked as final (`FatalError`,
   * `nonRetryable`) end it instead. `retry-on-new-build`: the same, but the task also resumes by itself on a build on which it has not
   * failed. `fail`: the workflow ends. `compensate`: what it did is compensated first.
   */
  readonly onFailure: 'park' | 'retry-on-new-build' | 'fail' | 'compensate';
  /** The policy on secrets in what its workflows store; absent: the deployment's (`SecretPolicy`). */
  readonly onSecret?: OnSecret | undefined;
  /**
   * A cancelled workflow runs on until nothing is left of its frontier: what waits is run at once, and sees `StepContext.cancelled`. Absent:
   * no further task starts.
   */
  readonly unwinds?: true | undefined;
  /** Time in milliseconds from its opening after which a workflow is cancelled. Absent: no limit. */
  readonly timeoutMs?: number | undefined;
  /** How its workflows are run again after crashes, where it isn't as the fleet's are (`TIDEMARK_RECOVERY`). */
  readonly recovery?: RecoveryOptions | undefined;
  /** Checkpoints after which a person is asked whether the workflow should continue. */
  readonly stepBudget: number;
  /** For each older version that can still run: converts belief and task inputs to those of the next version. */
  readonly upcasters: ReadonlyMap<number, Upcaster>;
  /** Models decide what the workflow does: its span is an `invoke_agent`. */
  readonly agent?: boolean | undefined;
  /** Workflows that its tasks may wait for, by name. Absent: none. */
  readonly children?: ReadonlyMap<string, Definition> | undefined;
  /** JSON Schema of the answers to its approvals, by name. Absent: it has none. */
  readonly approvals?: ReadonlyMap<string, Json> | undefined;
  /** Signals that it accepts, by name. Absent: unknown. */
  readonly signals?: ReadonlyMap<string, SignalForm> | undefined;
  /** Absent: its steps call no model with a bundle, and it has no phases. */
  readonly context?: ContextDefinition | undefined;
  /** Throws `InvalidError` for fields of a caller's input that its schema would drop. Absent: any are taken. */
  readonly refuseUnknown?: ((input: unknown) => void) | undefined;
  readonly parseInput: Parse;
  readonly parseBelief: Parse;
  readonly parseOutput: Parse;
  /** Priority and limits of a workflow with this input while it waits for a worker; absent: default priority, no limits. */
  readonly dispatch?: Dispatch | ((input: Json) => Dispatch) | undefined;
  /**
   * It stands for the code where that isn't loaded: the first task of a workflow that it opens has a worker run `begin`. Absent: this is the
   * code.
   */
  readonly isRegistered?: true | undefined;
  /** A schema of the definition, or of an effect that it lists, marks fields as secret. */
  readonly hasSecrets?: boolean | undefined;
  /** Set for the definition of an undo: makes the same undo from a view of the definition that it compensates. */
  readonly undoFor?: ((view: (of: CompensatedDefinition) => CompensatedDefinition) => Definition) | undefined;
  readonly begin: (
    input: Json,
    at: Beginning,
  ) => {
    readonly belief: unknown;
    readonly next: readonly TaskRequest[];
    readonly fragments?: readonly FragmentDraft[] | undefined;
  };
}

/** What a workflow begins with besides its input. */
export interface Beginning {
  /** Such as `2026-03-29`: for a run of a schedule the day of its slot in the schedule's time zone, otherwise that of the start where its process is. */
  readonly day: string;
}

/** What an undo needs of the definition whose workflows it compensates. */
export type CompensatedDefinition = Pick<
  Definition,
  'name' | 'version' | 'effects' | 'steps' | 'upcasters' | 'hasSecrets' | 'onSecret' | 'undoFor'
>;
