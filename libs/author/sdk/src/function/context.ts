/** Owns what a function can do: each method asks the live run for a call, and resolves with its outcome. It records nothing itself. */

import { canonicalJson, toJson } from '@tidemark/codec';
import { InvalidError, type Json, type WorkflowId } from '@tidemark/core';
import {
  type ApprovalOptions,
  type ModelToolCall,
  type Progress,
  type RecalledMemories,
  type RecallOptions,
  type StepContext,
  sha256Digest,
  type WaitRequest,
} from '@tidemark/runtime';
import {
  type AnyContext,
  type ApprovalCause,
  type ChildCause,
  type ContextRules,
  type Recorded,
  typedContext,
} from '../context.ts';
import type { Effect } from '../effect.ts';
import type { ModelCallOptions, ModelReply } from '../model-call.ts';
import type { Frozen, Given, Parsed, Schema, Schemas } from '../schema.ts';
import type { ToolOutcome } from '../tool.ts';
import { type ChildOptions, at as moment, timer } from '../wait.ts';
import type { InputOf, OutputOf, Workflow } from '../workflow-spec.ts';
import { LiveRun } from './live-run.ts';

/** Digits of the digest of what a call asks for. */
const ASKS_DIGITS = 16;
/** Characters of a race's name, which its members' names make. */
const RACE_NAME_MAX_CHARS = 200;

/** A person's answer. */
export type Answered<Value> = { readonly by: string; readonly why: string | null } & (
  | { readonly approved: true; readonly value: Value }
  | { readonly approved: false; readonly value: null }
);

/** Something that a function waits for. It counts from when the function asks, and may be a member of a race. */
export interface Waiting<T> extends PromiseLike<T> {
  readonly waiting: true;
}

type Racer<T> = PromiseLike<T> | (() => PromiseLike<T>);
/** The member that came first, with its value. */
export type Winner<Members> = {
  [Name in keyof Members & string]: Members[Name] extends Racer<infer T>
    ? { readonly name: Name; readonly value: T }
    : never;
}[keyof Members & string];

/** What a function receives. */
export interface FunctionContext<Signals extends Schemas, Approvals extends Schemas> {
  readonly workflow: WorkflowId;
  readonly session: string | undefined;
  readonly user: string | undefined;
  /** Runs a closure that changes nothing outside, and records its result, which must be JSON (undefined becomes null). */
  run<T>(name: string, body: (signal: AbortSignal) => T | Promise<T>): Promise<Recorded<T>>;
  /** Calls an effect at most once. Throws `CallFailedError` after its last attempt. */
  effect<Request extends Schema, Response extends Schema>(
    effect: Effect<Request, Response>,
    request: NoInfer<Given<Request>>,
  ): Promise<Parsed<Response>>;
  model<Answer extends Schema | undefined = undefined>(options: ModelCallOptions<Answer>): Promise<ModelReply<Answer>>;
  tool(call: ModelToolCall): Promise<ToolOutcome>;
  recall(question: string, options?: RecallOptions): Promise<RecalledMemories>;
  /** Waits so long: `90s`, `2d`, or milliseconds. No worker is held meanwhile. */
  sleep(duration: string | number): Waiting<null>;
  until(date: Date | string): Waiting<null>;
  /** The next signal of this name: one that came before anybody waited counts, and each counts once. */
  signal<Name extends keyof Signals & string>(name: Name): Waiting<Frozen<Parsed<Signals[Name]>>>;
  approval<Name extends keyof Approvals & string>(
    name: Name,
    options?: ApprovalOptions,
  ): Waiting<Answered<Frozen<Parsed<Approvals[Name]>>>>;
  /** Starts another workflow or function, one of the definition's `children`, and resolves with its output. */
  child<Of extends Workflow>(
    of: Of,
    input: NoInfer<InputOf<Of>>,
    options?: Pick<ChildOptions, 'onParentClose'>,
  ): Waiting<OutputOf<Of>>;
  /** Begins all of them, and resolves with their results in the order given. */
  all<T>(calls: readonly (() => T)[]): Promise<Awaited<T>[]>;
  /** Resolves with the member that comes first. Of waits that begin with the race, only that one counts; the others never come. */
  race<const Members extends Readonly<Record<string, Racer<unknown>>>>(members: Members): Promise<Winner<Members>>;
  /**
   * Ends the chapter: the function is called anew with this state, and nothing of what was recorded before is given to it again. Await
   * every other call before it.
   */
  chapter(state: Json): Promise<never>;
  /** The state of the present chapter; null in the first. */
  readonly state: Json;
  /** For a change of the code under live runs: 1 for a run that has come by here before the change was made, else `current`. */
  version(name: string, current: number): number;
  log(action: string, detail?: unknown): void;
  progress(progress: Progress): void;
  /** The time of the newest recorded outcome: the same when the function is called anew. */
  now(): Date;
  /** From 0 to 1, the same when the function is called anew. */
  random(): number;
  uuid(): string;
}

/** A wait before it becomes a call: members of one race become a single one. */
class Gathered implements Waiting<unknown> {
  readonly waiting = true;
  readonly wait: WaitRequest;
  readonly name: string;
  readonly promise: Promise<unknown>;
  #resolve: (value: unknown) => void = () => {};
  /** It has become a call, or a part of a race. */
  isTaken = false;

  constructor(name: string, wait: WaitRequest) {
    this.name = name;
    this.wait = wait;
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  follow(promise: Promise<unknown>): void {
    this.isTaken = true;
    this.#resolve(promise);
  }

  // biome-ignore lint/suspicious/noThenProperty: a wait is awaited as any promise is
  then<A, B>(
    done?: ((value: unknown) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ) {
    return this.promise.then(done, failed);
  }
}

export function functionContext(
  live: LiveRun,
  { workflow, session, user }: Pick<StepContext, 'workflow' | 'session' | 'user'>,
  rules: ContextRules,
  progress: (progress: Progress) => void,
): FunctionContext<Schemas, Schemas> {
  const call = (
    name: string,
    asks: Json,
    perform: (ctx: AnyContext, context: StepContext) => unknown,
  ): Promise<never> =>
    live.ask(name, digestOf(asks), {
      waits: undefined,
      perform: async (context) => perform(typedContext(context, rules), context),
    }) as Promise<never>;
  const wait = (name: string, request: WaitRequest): Waiting<never> => {
    const gathered = new Gathered(name, request);
    live.gather(() => {
      if (!gathered.isTaken) gathered.follow(askFor(live, name, [gathered]).then(({ value }) => value));
    });
    return gathered as unknown as Waiting<never>;
  };
  const { state, seed } = live.chapter;
  let drawn = 0;
  const draw = (): string => sha256Digest.sha256(`${seed}:${drawn++}`);
  return {
    workflow,
    session,
    user,
    run: (name, body) => call(name, 'run', (_, { signal }) => LiveRun.performing(name, () => body(signal))),
    effect: (effect, request) =>
      call(effect.operation, ['effect', toJson(request, `request of ${effect.operation}`)], (ctx) =>
        ctx.effect(effect, request),
      ),
    model: (options) => call(options.name ?? 'model', askedOf(options), (ctx) => ctx.model(options)),
    // A model may have made the name up.
    tool: (made) =>
      call(Object.hasOwn(rules.tools, made.name) ? made.name : 'tool', ['tool', made.name, made.input], (ctx) =>
        ctx.tool(made),
      ),
    recall: (question, options) => call('recall', ['recall', question], (ctx) => ctx.recall(question, options)),
    sleep: (duration) => wait('sleep', timer(duration).anyOf[0]!),
    until: (date) => wait('until', moment(date).anyOf[0]!),
    signal: (name) => wait(name, { kind: 'signal', name }),
    approval: (name, options = {}) => wait(name, { kind: 'approval', name, ...options }),
    child: (of, input, { onParentClose = 'cancel' } = {}) =>
      wait(of.name, { kind: 'child', name: of.name, input, onClose: onParentClose }),
    all: (calls) => Promise.all(calls.map((begin) => begin())) as never,
    race: (members) => race(live, members) as never,
    log: (action, detail) => void live.notes.push({ action, detail }),
    progress,
    state,
    chapter: (next) => {
      live.endChapter(toJson(next, 'state of ctx.chapter'));
      return new Promise(() => {});
    },
    version: (name, current) => live.version(name, current),
    now: () => new Date(live.nowMs),
    random: () => Number.parseInt(draw().slice(0, 13), 16) / 2 ** 52,
    uuid: () => draw().replace(/^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5'),
  };
}

async function askFor(
  live: LiveRun,
  name: string,
  members: readonly Gathered[],
): Promise<{ readonly index: number; readonly value: unknown }> {
  const waits = members.map(({ wait }) => wait);
  // A time may be computed from now: what was recorded counts.
  const asks = waits.map((each) => (each.kind === 'timer' || each.kind === 'at' ? each.kind : [each.kind, each.name]));
  const came = await live.ask(name, digestOf(asks), { perform: undefined, waits });
  return members.length === 1 ? { index: 0, value: came } : (came as { index: number; value: unknown });
}

async function race(live: LiveRun, members: Readonly<Record<string, Racer<unknown>>>): Promise<Winner<never>> {
  const begun = Object.entries(members).map(
    ([name, member]) => [name, typeof member === 'function' ? live.racing(member) : member] as const,
  );
  const isFree = (member: PromiseLike<unknown>): member is Gathered => member instanceof Gathered && !member.isTaken;
  const waits = begun.filter((entry): entry is readonly [string, Gathered] => isFree(entry[1]));
  if (waits.length === begun.length && begun.length > 0) {
    const names = waits.map(([name]) => name).join(' or ');
    const asked = askFor(
      live,
      names.slice(0, RACE_NAME_MAX_CHARS).toWellFormed(),
      waits.map(([, wait]) => wait),
    );
    for (const [at, [, wait]] of waits.entries()) {
      // Only the one that came resolves.
      wait.follow(asked.then(({ index, value }) => (index === at ? value : new Promise(() => {}))));
    }
    const { index, value } = await asked;
    return { name: begun[index]![0], value } as never;
  }
  return Promise.race(begun.map(async ([name, member]) => ({ name, value: await member }))) as never;
}

const digestOf = (asks: Json): string => sha256Digest.sha256(canonicalJson(asks)).slice(0, ASKS_DIGITS);

/** What identifies a model call: functions and schemas do not. */
function askedOf({ schema, ...options }: ModelCallOptions<Schema | undefined>): Json {
  return ['model', schema === undefined ? null : true, toJson(options, 'what ctx.model is asked')];
}

type AnyCause =
  | { readonly kind: 'timer' }
  | { readonly kind: 'signal'; readonly name: string; readonly value: Json }
  | ApprovalCause<string, Json>
  | ChildCause<string, Json>;

/** What became of a wait, by the task's cause. Throws `InvalidError`, where it doesn't fit. */
export function causeOf(
  { cause, waits }: { readonly cause: AnyCause | null; readonly waits: readonly WaitRequest[] },
  timerName: string,
): Json {
  const index = waits.findIndex((wait, at) => {
    if (cause === null) return false;
    if (cause.kind === 'timer')
      return (wait.kind === 'timer' || wait.kind === 'at') && (waits.length === 1 || timerName.endsWith(`:${at}`));
    return wait.kind === cause.kind && wait.name === cause.name;
  });
  if (cause === null || index < 0)
    throw new InvalidError('cause-missing', 'A wait of a function has come without its cause.');
  if (cause.kind === 'timer') return { index, value: null };
  if (cause.kind === 'approval') {
    const { approved, value, by, why } = cause;
    return { index, value: { approved, value: value as Json, by, why } };
  }
  if (cause.kind === 'child') {
    return cause.outcome === 'completed'
      ? { index, value: cause.output as Json }
      : { index, failed: `${cause.workflow} ${cause.outcome}: ${cause.message ?? cause.reason ?? ''}` };
  }
  return { index, value: cause.value as Json };
}
