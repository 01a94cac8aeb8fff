/**
 * Owns what the runtime needs to know of a user's workflow, after the SDK has taken types and schemas away: data in, data
 * out, validated at every border. Must not know zod, nor how the SDK spells any of it.
 */

import type { BundleOrigin, MemoryWrite, Payloads } from '@tidemark/codec';
import type {
  BundlePolicy,
  Cause,
  Controls,
  Dispatch,
  EffectKey,
  EffectKind,
  Fragment,
  Json,
  ParentClosePolicy,
  Sequence,
  Spend,
  TaskId,
  Tokenizer,
  WorkflowId,
} from '@tidemark/core';
import type { OnSecret, RetryPolicy } from '../kernel/index.ts';
import type { Model, ModelAnswer, ModelRequest } from './model.ts';
import type { HandOver, PhaseDefinition } from './working-memory.ts';

/** A secret field as it is stored (see secrets.ts). */
export type Seal = (value: Json) => string;

/**
 * Validates at a border. With `seal`, fields that the schema marks as secret are sealed in what it gives. Throws `InvalidError` that names
 * the path.
 */
export type Parse = (value: unknown, seal?: Seal) => Json;

/** How a person is asked. */
export interface ApprovalOptions {
  /** Who is to answer, by whatever names the callers go by. Absent: whoever may. */
  readonly assignee?: string | undefined;
  /** What they are asked, in a line. */
  readonly title?: string | undefined;
  /** What there is to know for the answer: JSON. */
  readonly detail?: unknown;
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
  /** From when the task is added, in milliseconds. */
  | { readonly kind: 'timer'; readonly delayMs: number }
  /** A moment, in milliseconds since the Unix epoch by the coordinators' clocks; one that has passed is now. */
  | { readonly kind: 'at'; readonly atMs: number };

/** A task that a step (or the opening) adds. `after` may name sibling requests or ids of earlier tasks. */
export interface TaskRequest {
  readonly step: string;
  readonly input: unknown;
  readonly after?: readonly (TaskRequest | TaskId)[] | 'all' | undefined;
  /** Any one of them is enough; absent: it waits for nothing. */
  readonly when?: { readonly anyOf: readonly WaitRequest[] } | undefined;
}

export type ProbeResult<Response> =
  | { readonly status: 'done'; readonly response: Response }
  | { readonly status: 'not-done' }
  | { readonly status: 'unknown' };

export interface EffectContext {
  /** Idempotency key: the same for every attempt at the same effect, whoever makes it. */
  readonly key: EffectKey;
  /** Aborts on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Says that the call is getting on: it may take `heartbeatTimeoutMs` more from now. Progress is shown, not stored. */
  readonly heartbeat: (progress?: Progress) => void;
}

export interface ProbeContext {
  /** Aborts on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** What was asked with the key. */
  readonly request: Json;
}

/** What a call answers whose outcome is confirmed later: the receiver has accepted it under this token. */
export class PendingResult {
  /** Names the effect in its confirmation, 1..512 characters. */
  readonly token: string;
  /** For whoever confirms it: JSON. */
  readonly detail: unknown;

  constructor(token: string, detail: unknown = null) {
    this.token = token;
    this.detail = detail;
  }
}

/** How an effect that answers `PendingResult` is followed up. */
export interface ConfirmationPolicy {
  /** Time between two probes, in milliseconds; a longer one for an effect without a probe makes no difference. */
  readonly probeEveryMs: number;
  /** Time, in milliseconds, after which an unconfirmed effect goes to a person. */
  readonly timeoutMs: number;
}

/** What an intention says beyond its request, worked out when the call is about to be made. */
export interface PreparedCall {
  readonly control: Pick<Controls['EffectIntended'], 'model' | 'question' | 'hasContext'>;
  readonly payload: Pick<Payloads['EffectIntended'], 'bundle' | 'prompt' | 'texts'>;
  /** Once the intention is in the log, and before the call: throws where the call must not be made after all. */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** An action on the outside, defined once, so that recovery needs no closure of a dead process. */
export interface EffectDefinition {
  readonly operation: string;
  readonly kind: EffectKind;
  readonly timeoutMs: number;
  /** Longest time between two heartbeats of a call, in milliseconds; undefined: none are expected. */
  readonly heartbeatTimeoutMs?: number | undefined;
  readonly confirm: ConfirmationPolicy;
  readonly retry: RetryPolicy;
  readonly parseRequest: Parse;
  readonly parseResponse: Parse;
  /** Request or response has fields that are marked as secret. */
  readonly hasSecrets?: boolean | undefined;
  /** Of one call: what it and its probes are given, where its request is recorded otherwise; absent: what is recorded. */
  readonly asked?: Json | undefined;
  /** What is recorded of an answer that has come, and what the step is given; absent: the answer. */
  readonly recorded?: ((response: Json) => Json) | undefined;
  readonly call: (request: Json, context: EffectContext) => Promise<unknown>;
  readonly probe?: ((key: EffectKey, context: ProbeContext) => Promise<ProbeResult<unknown>>) | undefined;
  /** The probe's `not-done` also keeps the receiver from taking a late call with that key, so nobody needs to wait for one. */
  readonly probeFences?: boolean | undefined;
  /** Undoes it, given what it answered; may be called more than once with the same key. */
  readonly compensate?: ((response: Json, context: EffectContext) => Promise<void>) | undefined;
  /** Undoes what may or may not have happened, given what was asked. */
  readonly compensateUnknown?: ((request: Json, context: EffectContext) => Promise<void>) | undefined;
  /** `recorded`: the origin that an earlier intention of the same call has: what it was sent is sent again. */
  readonly prepare?: ((key: EffectKey, recorded: BundleOrigin | undefined) => Promise<PreparedCall>) | undefined;
  /** What a recorded response says that the call cost; and what one cost that failed with the error. */
  readonly spentOf?: ((response: Json) => Spend) | undefined;
  readonly lostOf?: ((error: unknown) => Spend) | undefined;
}

export interface RunOptions {
  /** Names the closure among others of the same name in the step; by default they are counted. */
  readonly name?: string;
  /** Of an effect by which an agent could run in circles: what is asked. Asked too often, the workflow is stopped. */
  readonly question?: Json;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly text?: string | undefined;
}

/** A fragment as a step adds it. */
export type FragmentDraft = Pick<Fragment, 'type' | 'text' | 'call' | 'tool' | 'covers'>;

export interface MemoryQuery {
  /** Whose memory: `user:ana`, `pipeline:content`. */
  readonly subject: string;
  readonly kind: MemoryWrite['kind'];
  readonly key?: string | undefined;
  readonly prefix?: string | undefined;
  /** 100 when absent. */
  readonly limit?: number | undefined;
}

/** What a step asks long-term memory. */
export interface RecallOptions {
  /** `user:ana`, `domain:food`, `tenant:acme`; by default the workflow's user, the definition's domains and the tenant. */
  readonly about?: readonly string[] | undefined;
  /** Default: facts and summaries of sessions. */
  readonly kinds?: readonly MemoryWrite['kind'][] | undefined;
  /** 3 when absent, at most 50. */
  readonly limit?: number | undefined;
}

/** What fits a question, the best first. */
export interface RecalledMemories {
  readonly entries: readonly (MemoryEntry & {
    readonly about: string;
    readonly kind: MemoryWrite['kind'];
    /** What was searched: of a fact its sentence. */
    readonly text: string;
    /** From 0 to 1; comparable within one answer. */
    readonly score: number;
  })[];
  readonly by: 'words' | 'words+meaning';
  /** Why words decided alone, or nothing could; null: meaning counted as well. */
  readonly warning: string | null;
}

/** One entry of long-term memory. */
export interface MemoryEntry {
  readonly key: string;
  readonly value: Json;
  readonly source: string;
  /** When it was written, by its writer's clock. */
  readonly atMs: number;
}

/** Working memory of the phase that the step runs in, as it was when the step began. */
export interface PhaseMemory {
  /** Undefined for definitions without phases. */
  readonly phase: string | undefined;
  readonly keys: readonly string[];
  /** Throws `InvalidError` (`memory-out-of-scope`) for a key that the phase doesn't hold; it is counted. */
  get(key: string): Json;
}

/** What a step sees. */
export interface StepContext {
  /** The session that the workflow is a part of, and whose it is. */
  readonly session: string | undefined;
  readonly user: string | undefined;
  readonly memory: PhaseMemory;
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  readonly step: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** W3C `traceparent` of this attempt: what is given it, is below this step in the workflow's trace. */
  readonly traceparent: string;
  /** The workflow's own input. */
  readonly input: Json;
  /** Belief as it was when the step began. */
  readonly belief: Json;
  /** What fulfilled the task's condition, with the value that came. */
  readonly cause: (Cause & { readonly value: Json }) | null;
  /**
   * Aborts when the lease is lost or the worker must go: stop then, nothing of this attempt will count. Also when the workflow is
   * cancelled (the reason is a `WorkflowCancelledError`): the step may finish within the grace then, and what it did counts.
   */
  readonly signal: AbortSignal;
  /** Runs a closure whose result is journaled: a later attempt at this step gets the recorded value. Kind `pure`. */
  run(name: string, body: (signal: AbortSignal) => unknown, options?: RunOptions): Promise<Json>;
  /** Calls an effect at most once for its key: intended before, resolved after; a recorded outcome is not repeated. */
  effect(effect: EffectDefinition, request: unknown, options?: RunOptions): Promise<Json>;
  /** Asks a model, as an effect: intended with what it is sent, resolved with what it answered, and paid once. */
  modelCall(request: ModelRequest): Promise<ModelAnswer>;
  /** Reads long-term memory, by key. */
  memories(query: MemoryQuery): Promise<readonly MemoryEntry[]>;
  /** What long-term memory holds that fits the question; journaled, so that a later attempt at this step gets the same. */
  recall(question: string, options?: RecallOptions): Promise<RecalledMemories>;
  /** Adds to the execution log, stored with the step's checkpoint. */
  log(action: string, detail?: unknown): void;
  /** Tells whoever watches; not stored. */
  progress(progress: Progress): void;
  /** Outputs of all committed tasks of a step of this workflow, in order of the tasks' creation. */
  outputs(step: string): Promise<readonly Json[]>;
}

/** All that a step changes. */
export interface StepResult {
  /** Applied to the belief at commit, so parallel steps' updates compose. */
  readonly belief?: ((belief: Json) => unknown) | undefined;
  readonly next?: readonly TaskRequest[] | undefined;
  /** Kept with the checkpoint; a later step reads it with `ctx.outputs`. */
  readonly output?: unknown;
  /** Ends the workflow with this output. */
  readonly done?: unknown;
  /** Ends this history: the workflow goes on with a fresh one, begun with this input. */
  readonly continueAsNew?: unknown;
  /** What was done, in words; the step's name by default. */
  readonly lastAction?: string | undefined;
  readonly tokens?: number | undefined;
  readonly costMicros?: number | undefined;
  /** The earlier checkpoint of this workflow that this one corrects. */
  readonly supersedes?: Sequence | undefined;
  /** What was told, said or done: seen by later model calls. */
  readonly fragments?: readonly FragmentDraft[] | undefined;
  /** Keys of the phase's working memory to set; undefined removes one. */
  readonly memory?: Readonly<Record<string, unknown>> | undefined;
  /** Ends the phase. */
  readonly handOver?: HandOver | undefined;
  /** Changes of long-term memory. */
  readonly memories?: readonly MemoryUpdate[] | undefined;
}

/** A change of long-term memory as a step asks for it: without a value, the entry is forgotten. */
export interface MemoryUpdate extends Omit<MemoryWrite, 'value'> {
  readonly value?: unknown;
}

/** What may be spent; undefined: no limit. Tokens count input and output. */
export interface Budget {
  readonly tokens?: number | undefined;
  readonly costMicros?: number | undefined;
}

/** What a definition says of its workflows' context. */
export interface ContextDefinition {
  /** By bundle type. */
  readonly bundles: ReadonlyMap<string, BundlePolicy>;
  /** Read-only for the workflow's life, and of this version of the definition. */
  readonly system: ((input: Json) => string) | undefined;
  readonly phases: ReadonlyMap<string, PhaseDefinition>;
  /** The phase that workflows begin in; undefined: there are none. */
  readonly firstPhase: string | undefined;
  /** Counts working memory. */
  readonly tokenizer: Tokenizer;
  readonly budgets: { readonly call: Budget; readonly step: Budget; readonly workflow: Budget };
  /** How often one question may be asked before the workflow is stopped as running in circles. */
  readonly repeatsMax: number;
  /** Fields of knowledge whose facts its bundles and recalls have. */
  readonly domains?: readonly string[] | undefined;
  /** Makes summaries; undefined: they are made by rule. */
  readonly summaryModel: Model | undefined;
}

export interface StepDefinition {
  readonly name: string;
  /** Steps whose tasks it may add. */
  readonly mayAdd: ReadonlySet<string>;
  /** `durable`: goes on when the log has the checkpoint. `staged`: at once, within the staging limits; a crash re-runs. */
  readonly durability: 'durable' | 'staged';
  readonly retry: RetryPolicy;
  /** It works out what to do next: its span is a `plan`. */
  readonly plans?: boolean | undefined;
  readonly parseInput: Parse;
  readonly parseOutput: Parse;
  readonly run: (context: StepContext, input: Json) => Promise<StepResult> | StepResult;
  /** Undoes the committed step, given its input and output; may be called more than once with the same key. */
  readonly compensate?:
    | ((done: { readonly input: Json; readonly output: Json }, context: EffectContext) => Promise<void>)
    | undefined;
}

/** What a signal holds. */
export interface SignalForm {
  /** JSON Schema, for whoever shows or makes a value; what JSON Schema has no words for is left open in it. */
  readonly schema: Json;
  readonly parse: Parse;
}

/** From one version of a definition to the next. */
export interface Upcaster {
  /** Of what a workflow was started with; undefined: the same. */
  readonly input?: ((input: Json) => unknown) | undefined;
  readonly belief: (belief: Json) => unknown;
  /** By the step's name as it was; answers the step and the input that do the same now. */
  readonly task: (step: string, input: Json) => { readonly step: string; readonly input: unknown };
}

/** `Input` and `Output` are known to the SDK's types alone, and carried by `types`, which holds nothing at run time. */
export interface Definition<Input = unknown, Output = unknown> {
  readonly types?: { readonly input: Input; readonly output: Output };
  readonly name: string;
  readonly version: number;
  /** Tasks of one workflow under way at once, at most. */
  readonly parallel: number;
  /** How much of staged steps a crash may undo; absent: `STAGED_STEPS_DEFAULT_COUNT`, `STAGED_DELAY_DEFAULT_MS`. */
  readonly staging?: { readonly steps?: number | undefined; readonly delayMs?: number | undefined } | undefined;
  readonly placement: 'exclusive' | 'shared';
  readonly steps: ReadonlyMap<string, StepDefinition>;
  /** Effects that recovery and compensation find by their operation, without the step that called them. */
  readonly effects: readonly EffectDefinition[];
  /**
   * What becomes of a workflow whose step fails for good: `park` asks a person, but for failures that are named as final (`FatalError`,
   * `nonRetryable`), which end it; `retry-on-new-build` does the same, and lets the task go on by itself on a build on which it has not failed;
   * `fail` ends it; `compensate` undoes first what it did.
   */
  readonly onFailure: 'park' | 'retry-on-new-build' | 'fail' | 'compensate';
  /** What is done about secrets in what its workflows store; absent: as the deployment says (`SecretPolicy`). */
  readonly onSecret?: OnSecret | undefined;
  /** Time from its opening, in milliseconds, after which a workflow is cancelled. Absent: it may take as long as it does. */
  readonly timeoutMs?: number | undefined;
  /** Checkpoints after which a person is asked whether it should go on. */
  readonly stepBudget: number;
  /** For each older version that can still be run: how its belief and its tasks' inputs become those of the next version. */
  readonly upcasters: ReadonlyMap<number, Upcaster>;
  /** Models decide in it what is done: its span is an `invoke_agent`. */
  readonly agent?: boolean | undefined;
  /** Workflows that its tasks may wait for, by name. Absent: none. */
  readonly children?: ReadonlyMap<string, Definition> | undefined;
  /** What answers to its approvals hold, as JSON Schema, by their names. Absent: it has none. */
  readonly approvals?: ReadonlyMap<string, Json> | undefined;
  /** What may be sent to it, by name. Absent: that isn't known. */
  readonly signals?: ReadonlyMap<string, SignalForm> | undefined;
  /** Absent: its steps call no model with a bundle, and have no phases. */
  readonly context?: ContextDefinition | undefined;
  readonly parseInput: Parse;
  readonly parseBelief: Parse;
  readonly parseOutput: Parse;
  /** How a workflow with this input stands among those that wait for a worker; absent: default priority, no limits. */
  readonly dispatch?: ((input: Json) => Dispatch) | undefined;
  /** Some schema of it, or of an effect that it lists, has fields that are marked as secret. */
  readonly hasSecrets?: boolean | undefined;
  /** Of an undo: the same undo of a view of what it undoes. */
  readonly undoing?: ((view: (of: CompensatedDefinition) => CompensatedDefinition) => Definition) | undefined;
  readonly begin: (input: Json) => {
    readonly belief: unknown;
    readonly next: readonly TaskRequest[];
    readonly fragments?: readonly FragmentDraft[] | undefined;
  };
}

/** What an undo needs to know of the definition whose workflows it undoes. */
export type CompensatedDefinition = Pick<
  Definition,
  'name' | 'version' | 'effects' | 'steps' | 'upcasters' | 'hasSecrets' | 'onSecret' | 'undoing'
>;
