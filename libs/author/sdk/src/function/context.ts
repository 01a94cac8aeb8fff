/** Owns what a function can do: each method asks the live run for a call, and resolves with its outcome. It records nothing itself. */

import { SECRET_MASK, toJson } from '@tidemark/codec';
import { InvalidError, type Json, type WorkflowId } from '@tidemark/core';
import {
  type FragmentDraft,
  type ModelAnswer,
  type ModelRequest,
  type ModelToolCall,
  type Progress,
  type RecalledMemories,
  type RecallOptions,
  type StepContext,
  sha256Digest,
} from '@tidemark/runtime';
import { type AnyContext, type ContextRules, type Recorded, typedContext } from '../context.ts';
import type { Effect } from '../effect.ts';
import type { ModelCallOptions, ModelReply } from '../model-call.ts';
import type { Given, Parsed, Schema, Schemas } from '../schema.ts';
import { hasSecrets } from '../secret.ts';
import { answeredBy, type ToolOutcome } from '../tool.ts';
import { type CallKind, LiveRun, ROLLBACK, unawaited } from './live-run.ts';
import { digestOf } from './outcome.ts';
import { type Waits, waitsOf } from './waits.ts';

/** What a function receives. */
export interface FunctionContext<Signals extends Schemas, Approvals extends Schemas> extends Waits<Signals, Approvals> {
  readonly workflow: WorkflowId;
  readonly session: string | undefined;
  readonly user: string | undefined;
  /** Names of the approvals that the definition declares. */
  readonly approvals: readonly string[];
  /** Runs a closure that changes nothing outside, and records its result, which must be JSON (undefined becomes null). */
  run<T>(name: string, body: (signal: AbortSignal) => T | Promise<T>): Promise<Recorded<T>>;
  /** Calls an effect at most once. Throws `CallFailedError` after its last attempt. */
  effect<Request extends Schema, Response extends Schema>(
    effect: Effect<Request, Response>,
    request: NoInfer<Given<Request>>,
  ): Promise<Parsed<Response>>;
  model<Answer extends Schema | undefined = undefined>(options: ModelCallOptions<Answer>): Promise<ModelReply<Answer>>;
  /** The runtime's model call: for libraries that have models of their own. */
  modelCall(request: ModelRequest): Promise<ModelAnswer>;
  /**
   * Makes a call that a model requested. `answers`, by the tool's name, answer in place of the tool's effect or `run`: they may ask a person,
   * start a child, and call whatever the function may. A call that names no tool, or doesn't fit its input, returns an error for the model.
   */
  tool(call: ModelToolCall, answers?: Readonly<Record<string, (input: never) => unknown>>): Promise<ToolOutcome>;
  /** Has this effect called if the run is rolled back: what was registered last comes first, with the compensations of effects. */
  onRollback<Request extends Schema>(effect: Effect<Request>, request: NoInfer<Given<Request>>): Promise<void>;
  recall(question: string, options?: RecallOptions): Promise<RecalledMemories>;
  /**
   * Ends the chapter: the function is called anew with this state, and nothing of what was recorded before is given to it again. Await
   * every other call before it.
   */
  chapter(state: Json): Promise<never>;
  /** The state of the present chapter; null in the first. */
  readonly state: Json;
  /** What the run holds true, for people who look at it: it may be set to any JSON, and goes with the next outcome. Null until it is set. */
  belief: Json;
  /** For a change of the code under live runs: 1 for a run that has come by here before the change was made, else `current`. */
  version(name: string, current: number): number;
  /** Adds what was heard, said or done to what later model calls with a bundle see. It is stored with the next outcome. */
  tell(...fragments: readonly (FragmentDraft | readonly FragmentDraft[])[]): void;
  log(action: string, detail?: unknown): void;
  progress(progress: Progress): void;
  /** The time of the newest recorded outcome: the same when the function is called anew. */
  now(): Date;
  /** From 0 to 1, the same when the function is called anew. */
  random(): number;
  uuid(): string;
}

/** What a function's own restrictions are. */
export interface FunctionRules extends ContextRules {
  readonly approvals: readonly string[];
}

export function functionContext(
  live: LiveRun,
  { workflow, session, user }: Pick<StepContext, 'workflow' | 'session' | 'user'>,
  rules: FunctionRules,
  progress: (progress: Progress) => void,
): FunctionContext<Schemas, Schemas> {
  return {
    workflow,
    session,
    user,
    approvals: rules.approvals,
    ...callsOf(live, rules),
    ...waitsOf(live),
    tell: (...fragments) => {
      live.refuseWithin('ctx.tell');
      live.fragments.push(...fragments.flat());
    },
    log: (action, detail) => void live.notes.push({ action, detail }),
    progress,
    state: live.chapter.state,
    get belief() {
      return live.belief ?? null;
    },
    set belief(value) {
      live.refuseWithin('ctx.belief');
      live.belief = toJson(value, 'ctx.belief');
    },
    chapter: (next) => {
      live.endChapter(toJson(next, 'state of ctx.chapter'));
      return new Promise(() => {});
    },
    version: (name, current) => live.version(name, current),
    ...drawnOf(live),
  };
}

type Calls = Pick<
  FunctionContext<Schemas, Schemas>,
  'run' | 'effect' | 'model' | 'modelCall' | 'tool' | 'onRollback' | 'recall'
>;

/** What a function calls: each call asks the live run for a task of its own. */
function callsOf(live: LiveRun, rules: ContextRules): Calls {
  const call = (
    name: string,
    asks: Json,
    perform: (ctx: AnyContext, context: StepContext) => unknown,
    more: Partial<CallKind> = {},
  ): Promise<never> =>
    live.ask(name, digestOf(asks), {
      waits: undefined,
      perform: async (context) => perform(typedContext(context, rules), context),
      mayDrop: false,
      ...more,
    }) as Promise<never>;
  return {
    run: (name, body) =>
      call(name, 'run', (_, { signal }) => LiveRun.performing(name, () => body(signal)), {
        ...{ mayDrop: true, isClosure: true },
      }),
    effect: (effect, request) => {
      const { operation } = effect;
      // A short secret could be guessed by its digest.
      const asked = effect.hasSecrets
        ? effect.parseRequest(request, () => SECRET_MASK)
        : toJson(request, `request of ${operation}`);
      // The function may change the object before the call is made.
      const sent = structuredClone(effect.hasSecrets ? request : asked) as typeof request;
      return call(operation, ['effect', asked], (ctx) => ctx.effect(effect, sent), {
        takesRecorded: effect.onChanged === 'send-recorded',
        secretOf: effect.hasSecrets && hasSecrets(effect.response) ? operation : undefined,
      });
    },
    model: ({ schema, ...options }) => {
      const asked = structuredClone(toJson(options, 'what ctx.model is asked')) as typeof options;
      // Of a schema, nothing is compared.
      const asks = ['model', schema === undefined ? null : true, asked as Json];
      return call(options.name ?? 'model', asks, (ctx) => ctx.model({ ...asked, schema } as never), {
        takesRecorded: true,
      });
    },
    modelCall: (request) => call('model', 'model-call', (ctx) => ctx.modelCall(request), { takesRecorded: true }),
    tool: (made, answers = {}) => {
      const answer = Object.hasOwn(answers, made.name) ? answers[made.name] : undefined;
      // A model may have made the name up.
      const name = Object.hasOwn(rules.tools, made.name) ? made.name : 'tool';
      if (answer === undefined) {
        const asked = structuredClone(made);
        return call(name, ['tool', asked.name, asked.input], (ctx) => ctx.tool(asked));
      }
      return unawaited(
        answeredBy(rules.tools, made, async (input) =>
          toJson((await answer(input as never)) ?? null, `result of tool ${made.name}`),
        ),
      );
    },
    onRollback: async (effect, request) => {
      const asked = rollbackOf(effect, request, rules);
      await call(ROLLBACK, [effect.operation, asked], () => ({ operation: effect.operation, request: asked }), {
        isRollback: true,
      });
    },
    recall: (question, options) => call('recall', ['recall', question], (ctx) => ctx.recall(question, options)),
  };
}

/** The chapter's time and chance, which are the same when the function is called anew. */
function drawnOf(live: LiveRun): Pick<FunctionContext<Schemas, Schemas>, 'now' | 'random' | 'uuid'> {
  // Members of `all` may draw in any order.
  const drawn = new Map<string, number>();
  const draw = (): string => {
    live.refuseWithin('ctx.random or ctx.uuid');
    const { member } = live;
    const count = drawn.get(member) ?? 0;
    drawn.set(member, count + 1);
    return sha256Digest.sha256(`${live.chapter.seed}:${member}:${count}`);
  };
  return {
    now: () => {
      return new Date(live.nowMs);
    },
    random: () => Number.parseInt(draw().slice(0, 13), 16) / 2 ** 52,
    uuid: () => draw().replace(/^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5'),
  };
}

/** The request, as it is recorded. Throws `InvalidError` (`effect-not-listed`, `rollback-secret`). */
function rollbackOf(effect: Effect, request: unknown, { operations }: ContextRules): Json {
  const { operation } = effect;
  if (operations?.has(operation) !== true) {
    const message = `ctx.onRollback: list ${operation} in effects, where a rollback finds it.`;
    throw new InvalidError('effect-not-listed', message, { operation });
  }
  if (hasSecrets(effect.request)) {
    const message = `ctx.onRollback: the request of ${operation} has secret fields, and a rollback would find them masked. Have the effect read them where it is called.`;
    throw new InvalidError('rollback-secret', message, { operation });
  }
  return toJson(effect.parseRequest(request), `request of ${operation}`);
}
