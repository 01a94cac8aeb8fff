/**
 * Owns summaries: the rolling one, once messages pass the policy's threshold, and the session's, when its workflow ends. A model writes
 * them, as a recorded effect, where the definition has one; a rule makes them where it has none, or when the model or the workflow fails.
 * It does not write: summaries are part of the step's own checkpoint, or of the event by which the workflow fails.
 */

import { type MemoryWrite, maskSecrets } from '@tidemark/codec';
import {
  type BundleMessage,
  type Fragment,
  isoTime,
  type Json,
  LimitError,
  type SummaryDue,
  type SummaryPolicy,
  summariseByRule,
  summaryDue,
  summaryPrompt,
  type TaskId,
  type TaskState,
} from '@tidemark/core';
import {
  parseSummary,
  type SessionSummary,
  summariseTraceByRule,
  summaryInstruction,
  summaryWords,
  type TraceStep,
  userSubject,
} from '@tidemark/memory';
import type { Clock, Telemetry } from '@tidemark/ports';
import {
  type ContextDefinition,
  type Definition,
  EffectError,
  type FragmentDraft,
  type MemoryUpdate,
  type Model,
  type ModelAnswer,
  ParkError,
  type StepResult,
} from '../definition/index.ts';
import type { EffectJournal } from '../effects/index.ts';
import type { ContextReads, StreamContent } from '../history/index.ts';
import { EFFECT_NOT_RECORDED, sha256Digest, WOKEN } from '../kernel/index.ts';
import type { Draft, LeasedStream } from '../lease/index.ts';
import { anyWrite } from './commit-context.ts';
import { MEMORY_KEY_MAX_CHARS } from './limits.ts';
import { type ModelCalls, PROMPT_TOO_LONG } from './model-calls.ts';

/** Longest wait for the rows from which the summary of a failed workflow is made, in milliseconds. */
export const FAILURE_SUMMARY_MAX_MS = 2_000;
/** Latest checkpoints that a session's summary by rule covers. */
const SESSION_TRACE_MAX_COUNT = 200;
/** Most tokens of a session that a model gets to summarize: the newest. */
const SESSION_PROMPT_MAX_TOKENS = 8_000;

export interface SummaryDependencies {
  readonly ports: { readonly clock: Clock; readonly telemetry: Pick<Telemetry, 'count'> };
  readonly definition: Definition;
  readonly stream: LeasedStream;
  readonly content: StreamContent;
  readonly reads: ContextReads;
  readonly models: ModelCalls;
  readonly signal: AbortSignal;
}

/** The subject of summaries of a session without a user. */
export const sessionSubject = (session: string): string => `session:${session}`;

/** Whether the step ends this run of the workflow. */
export const endsHistory = ({ done, continueAsNew }: StepResult): boolean =>
  done !== undefined || continueAsNew !== undefined;

/** Whether a summary may be due with the result. */
export const mayBringSummaries = (result: StepResult): boolean => result.fragments !== undefined || endsHistory(result);

/** The step's result with the summaries that are due. */
export async function withSummaries(
  result: StepResult,
  task: TaskState,
  journal: EffectJournal,
  dependencies: SummaryDependencies,
): Promise<StepResult> {
  const rolling = result.fragments === undefined ? undefined : await rollingSummary(task, journal, dependencies);
  const session = !endsHistory(result) ? undefined : await sessionSummary(result, task, journal, dependencies);
  if (rolling === undefined && session === undefined) return result;
  return {
    ...result,
    ...(rolling !== undefined && { fragments: [...(result.fragments ?? []), rolling] }),
    ...(session !== undefined && { memories: [...(result.memories ?? []), session] }),
  };
}

async function ask(
  { models, signal }: SummaryDependencies,
  { id }: TaskState,
  journal: EffectJournal,
  question: { readonly name: string; readonly model: Model; readonly messages: readonly BundleMessage[] },
): Promise<string | undefined> {
  const { effect, asked } = models.effect(id, question, signal);
  try {
    const answer = await journal.effect(effect, asked, { name: question.name });
    return (answer as unknown as ModelAnswer).text.trim();
  } catch (error) {
    // The provider failed, the budget is exhausted, or the model has no room for so much: the rule makes the summary, so that an agent's work is not lost for lack of one.
    const isStop = error instanceof ParkError && error.code === EFFECT_NOT_RECORDED;
    if (error instanceof EffectError || (error instanceof ParkError && !isStop)) return undefined;
    if (error instanceof LimitError && error.code === PROMPT_TOO_LONG) return undefined;
    throw error;
  }
}

const system = (content: string): BundleMessage => ({ role: 'system', content });
const user = (text: string): BundleMessage => ({ role: 'user', content: [{ type: 'text', text }] });

async function rollingSummary(
  task: TaskState,
  journal: EffectJournal,
  dependencies: SummaryDependencies,
): Promise<FragmentDraft | undefined> {
  const { definition, content, reads, stream, models } = dependencies;
  const { context: rules } = definition;
  const policies = [...(rules?.bundles.values() ?? [])].filter(({ summary }) => summary !== null);
  if (rules === undefined || policies.length === 0) return undefined;
  const { workflow, head } = stream.speculative;
  const own = await content.context.fragments(reads, workflow, head.sequence);
  // A summary covers everything before it, so it absorbs the session's earlier workflows as well.
  const earlier = await models.earlierRuns();
  for (const policy of policies) {
    const due = summaryDue(policy, [...earlier, ...own], rules.tokenizer);
    if (due === null) continue;
    // Parallel tasks find the same summary due: it is made once.
    return models.once(JSON.stringify(due.covers), async () => {
      const text = await rollingText(due, policy.summary!, rules, (model, prompt) =>
        ask(dependencies, task, journal, {
          name: 'rolling-summary',
          model,
          messages: [system(prompt.system), user(prompt.user)],
        }),
      );
      return { type: 'summary', text, covers: due.covers };
    });
  }
  return undefined;
}

async function rollingText(
  due: SummaryDue,
  { by, keepTokens, thresholdTokens }: SummaryPolicy,
  { summaryModel, tokenizer }: ContextDefinition,
  asking: (model: Model, prompt: ReturnType<typeof summaryPrompt>) => Promise<string | undefined>,
): Promise<string> {
  const previous = due.previous?.text ?? null;
  if (by === 'model' && summaryModel !== undefined) {
    const text = await asking(summaryModel, summaryPrompt(previous, due.absorb, summaryModel.tokenizer));
    if (text !== undefined && text !== '') return text;
  }
  // Summary and kept messages together stay below the threshold that made it due.
  const maxTokens = Math.max(128, Math.floor((thresholdTokens - keepTokens) / 2));
  return summariseByRule(previous, due.absorb, due.covers, maxTokens, tokenizer);
}

async function sessionSummary(
  result: StepResult,
  task: TaskState,
  journal: EffectJournal,
  dependencies: SummaryDependencies,
): Promise<MemoryUpdate | undefined> {
  const { stream, definition } = dependencies;
  const { session } = stream.speculative;
  if (session === undefined) return undefined;
  const { byRule, goal, fragments } = await summaryByRule(session, dependencies, {
    last: {
      step: task.step,
      action: result.lastAction ?? task.step,
      output: maskSecrets(lastOutput(result, definition)),
    },
    fragments: result.fragments ?? [],
    openTasks: tasksBut(stream, task.id),
  });
  const model = definition.context?.summaryModel;
  const summary =
    model === undefined ? byRule : await summaryByModel(model, byRule, goal, fragments, dependencies, task, journal);
  return summaryUpdate(session, stream, summary);
}

/** What the workflow ends with, in stored form: the parsers mask and seal it. */
function lastOutput({ done, continueAsNew }: StepResult, { parseOutput, parseInput }: Definition): Json {
  if (done !== undefined) return parseOutput(done);
  return continueAsNew === undefined ? null : parseInput(continueAsNew);
}

/**
 * The session's summary for a workflow that ends like this; undefined: it does not fail, or has no session. It is made by rule, because the
 * model itself may have failed. Never throws, and takes at most `FAILURE_SUMMARY_MAX_MS`: if necessary the failure is recorded without a
 * summary.
 */
export async function failureSummary(
  ending: Draft,
  dependencies: Pick<SummaryDependencies, 'content' | 'reads' | 'stream' | 'ports'>,
): Promise<MemoryWrite | undefined> {
  const { stream, ports } = dependencies;
  const { session, frontier } = stream.speculative;
  if (session === undefined || !isFailure(ending)) return undefined;
  const task = 'task' in ending.control && ending.control.task !== null ? ending.control.task : undefined;
  const step = task === undefined ? undefined : frontier.tasks.get(task)?.step;
  const made = summaryByRule(session, dependencies, {
    last: { step: step ?? 'the workflow', action: 'failed', output: ending.payload.error.message },
    fragments: [],
    openTasks: tasksBut(stream),
  }).then(({ byRule }) => anyWrite(summaryUpdate(session, stream, byRule), 'the summary of the session'));
  const ended = new AbortController();
  const late = ports.clock.sleep(FAILURE_SUMMARY_MAX_MS, ended.signal).then(() => undefined);
  const summary = await Promise.race([made.catch(() => undefined), late]);
  ended.abort(WOKEN);
  if (summary === undefined) ports.telemetry.count('session_summaries_missing_total', 1);
  return summary;
}

/** The events that end a run, with the summary in the last one if that is a failure. */
export function withFailureSummary(drafts: readonly Draft[], summary: MemoryWrite | undefined): readonly Draft[] {
  const last = drafts.at(-1);
  if (summary === undefined || !isFailure(last)) return drafts;
  const ending = {
    ...last,
    control: { ...last.control, hasContext: true },
    payload: { ...last.payload, memories: [summary] },
  } as Failure;
  return [...drafts.slice(0, -1), ending];
}

type Failure = Extract<Draft, { readonly type: 'WorkflowFailed' | 'CompensationStarted' }>;

const isFailure = (draft: Draft | undefined): draft is Failure =>
  draft?.type === 'WorkflowFailed' || draft?.type === 'CompensationStarted';

interface SessionEnd {
  readonly last: TraceStep;
  /** Not committed yet. */
  readonly fragments: readonly FragmentDraft[];
  readonly openTasks: readonly string[];
}

async function summaryByRule(
  session: string,
  { content, reads, stream, ports }: Pick<SummaryDependencies, 'content' | 'reads' | 'stream' | 'ports'>,
  end: SessionEnd,
) {
  const { workflow, head } = stream.speculative;
  const fragments = await content.context.fragments(reads, workflow, head.sequence);
  const { recent } = await content.context.trace(reads, workflow, head.sequence, SESSION_TRACE_MAX_COUNT);
  const goal = fragments.find(({ type }) => type === 'task_goal')?.text ?? goalOf(maskSecrets(content.input));
  const byRule = summariseTraceByRule({
    sessionId: session,
    goal,
    trace: [...recent, end.last],
    fragments: [...fragments, ...end.fragments],
    openTasks: end.openTasks,
    createdAt: isoTime(ports.clock.nowMs()),
  });
  return { byRule, goal, fragments };
}

function summaryUpdate(session: string, { speculative }: LeasedStream, summary: SessionSummary): MemoryUpdate {
  const { workflow, user: whose } = speculative;
  const key = `${session}/${workflow}`;
  return {
    subject: whose === undefined ? sessionSubject(session) : userSubject(whose),
    kind: 'summary',
    key: key.length <= MEMORY_KEY_MAX_CHARS ? key : sha256Digest.sha256(key),
    value: summary,
    words: summaryWords(summary),
    source: `workflow ${workflow}`,
  };
}

async function summaryByModel(
  model: Model,
  byRule: SessionSummary,
  goal: string,
  fragments: readonly Fragment[],
  dependencies: SummaryDependencies,
  task: TaskState,
  journal: EffectJournal,
): Promise<SessionSummary> {
  const conversation = summaryPrompt(null, newestOf(fragments, model), model.tokenizer).user;
  const messages = [system(summaryInstruction(goal)), user(`${conversation}\n\nBy rule: ${JSON.stringify(byRule)}`)];
  const text = await ask(dependencies, task, journal, { name: 'session-summary', model, messages });
  return text === undefined ? byRule : parseSummary(text, byRule).summary;
}

/** The newest that fit: a long session has its rolling summary for the rest. */
function newestOf(fragments: readonly Fragment[], { tokenizer }: Model): readonly Fragment[] {
  let tokens = 0;
  const from = fragments.findLastIndex(({ text }) => {
    tokens += tokenizer.count(text);
    return tokens > SESSION_PROMPT_MAX_TOKENS;
  });
  return fragments.slice(from + 1);
}

const goalOf = (input: Json): string => (typeof input === 'string' ? input : JSON.stringify(input)).slice(0, 500);

const tasksBut = ({ speculative }: LeasedStream, ended?: TaskId): readonly string[] =>
  [...speculative.frontier.tasks].filter(({ id }) => id !== ended).map(({ step }) => step);
