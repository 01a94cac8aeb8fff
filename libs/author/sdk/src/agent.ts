/**
 * Owns `agent`: the tool loop as a workflow of two steps. `think` calls the model, `act` makes one call of a tool, or says that a person
 * refused it. Each is a checkpoint, so a crash repeats no answer and no call; calls of one answer run side by side, and the next thought
 * comes after all of them, so that each has its result in the prompt. Must not keep anything outside of tasks, outputs and fragments.
 */

import { wholeSchema } from '@tidemark/codec';
import { canonicalJson, InvalidError, type Json, messageOf } from '@tidemark/core';
import { EffectError, FatalError, type ModelToolCall } from '@tidemark/runtime';
import { z } from 'zod';
import { safeParse } from 'zod/v4/core';
import {
  type Act,
  type Agent,
  type AgentSpec,
  type AgentStep,
  actSchema,
  agentBeliefSchema,
  answerSchema,
  PASSED_ON,
  type PromptOf,
  promptSchema,
  type StopCondition,
  type Thought,
  type ToolApproval,
  thoughtSchema,
} from './agent-types.ts';
import type { AnyContext, Context } from './context.ts';
import { agentMessage, said, toolResult, userMessage } from './fragments.ts';
import { AGENT_BUNDLE_DEFAULT_TOKENS, AGENT_CALLS_MAX_COUNT, AGENT_STEPS_DEFAULT_COUNT } from './limits.ts';
import { type ModelReply, readObject } from './model-call.ts';
import { type DefinitionProblem, refuseProblems, unknownMembers } from './problem.ts';
import type { Schema } from './schema.ts';
import { task } from './task.ts';
import { type Tool, type Tools, tool, toolCallSchema } from './tool.ts';
import { type ApprovalName, anyOf, approval, timer } from './wait.ts';
import { defineWorkflow } from './workflow.ts';

/** The bundle of its model calls. */
const BUNDLE = 'loop';
/** The tool by which the model gives the output of an agent that has a schema for it. */
const ANSWER = 'answer';

/** Characters of the names of what the model called, in the trace. */
const ACTION_MAX_CHARS = 100;

const OWN = [
  ...['name', 'version', 'model', 'instructions', 'tools', 'stopWhen', 'toolApproval', 'budget', 'input', 'output'],
  ...['prompt', 'settings', 'stream', 'bundle'],
];

/** Ends the loop after so many calls of the model. It fails the run: there is no answer. */
export const isStepCount = (stepCount: number): StopCondition =>
  Object.assign(({ steps }: { readonly steps: readonly AgentStep[] }) => steps.length >= stepCount, { stepCount });

/** Ends the loop once one of these tools was called, and has answered: a call that was denied, refused or failed doesn't count. */
export const hasToolCall =
  (...names: readonly string[]): StopCondition =>
  ({ steps }) =>
    steps.at(-1)?.toolCalls.some(({ name }) => names.includes(name)) === true;

type Spec = AgentSpec<Tools, Schema, Schema> & { readonly prompt?: ((input: never) => string) | undefined };

/**
 * An agent: a model that calls tools until it answers. Throws `InvalidError` (`agent-invalid`, `definition-invalid`) that lists every
 * mistake.
 */
export function agent<
  const T extends Tools = Record<never, never>,
  Input extends Schema = typeof promptSchema,
  Output extends Schema = typeof answerSchema,
>(spec: AgentSpec<T, Input, Output> & PromptOf<Input>): Agent<Input, Output> {
  return define(spec as unknown as Spec) as unknown as Agent<Input, Output>;
}

function define(spec: Spec) {
  const { name, version = 1, model, instructions, output, budget, bundle, input = promptSchema } = spec;
  refuseProblems('agent-invalid', `Agent ${name}`, problemsOf(spec));
  const tools = toolsOf(spec);
  const asked = Object.keys(spec.toolApproval ?? {});
  const passedOn = Object.entries(spec).filter(([member]) => (PASSED_ON as readonly string[]).includes(member));
  return defineWorkflow({
    ...Object.fromEntries(passedOn),
    name,
    version,
    input,
    belief: agentBeliefSchema,
    output: output ?? answerSchema,
    tasks: { think: z.object({}), act: toolCallSchema },
    outputs: { think: thoughtSchema, act: actSchema },
    flow: { think: ['act', 'think'], act: [] },
    starts: ['think'],
    // The form of each answer is the tool's input. `ctx.tool` checks it, too, and applies what JSON Schema can't say.
    approvals: Object.fromEntries(
      asked.map((each) => [each, z.unknown().meta({ ...(formOf(tools[each]!) as object) })]),
    ),
    models: { default: model },
    tools,
    bundles: { [BUNDLE]: { budgetTokens: roomOf(model), ...bundle } },
    ...(bundle?.summary?.by === 'model' && { summaryModel: 'default' }),
    ...(instructions !== undefined && { system: instructions as string }),
    ...(budget !== undefined && { budget: { workflow: budget } }),
    begin: (given) => ({
      belief: {},
      next: [task('think', {})],
      fragments: [userMessage((spec.prompt ?? promptIn)(given as never))],
    }),
    steps: {
      think: { run: (async (ctx: AnyContext) => think(ctx, spec, tools)) as never, plans: true },
      act: (async (ctx: ActContext, call: ModelToolCall) => act(ctx, call, spec, tools)) as never,
    },
  });
}

const promptIn = ({ prompt }: { readonly prompt: string }): string => prompt;

/** Half of what the model takes, where that is known: the rest is for its tools and its answer. */
const roomOf = ({ contextTokens }: Spec['model']): number =>
  contextTokens === undefined ? AGENT_BUNDLE_DEFAULT_TOKENS : Math.floor(contextTokens / 2);

const toolsOf = ({ tools = {}, output }: Spec): Tools =>
  output === undefined
    ? tools
    : {
        ...tools,
        [ANSWER]: tool({ description: 'Gives your answer, and ends the task.', input: output, run: (given) => given }),
      };

function problemsOf(spec: Spec): readonly DefinitionProblem[] {
  const { model, tools = {}, toolApproval = {}, stopWhen = [], output } = spec;
  const problem = (code: string, message: string): DefinitionProblem => ({ code, message });
  const problems = [...unknownMembers('agent', spec, [...OWN, ...PASSED_ON])];
  if (typeof model?.answer !== 'function') {
    problems.push(problem('model-invalid', 'model is not a model: make it with model(…) of @tidemark/ai.'));
  }
  for (const [name, rule] of Object.entries(toolApproval)) {
    if (!Object.hasOwn(tools, name))
      problems.push(problem('tool-unknown', `toolApproval.${name}: no tool is named so.`));
    try {
      if (typeof rule !== 'function') rulingOf(name, rule);
    } catch (error) {
      problems.push(problem('approval-invalid', messageOf(error)));
    }
  }
  if ([stopWhen].flat().some((condition) => typeof condition !== 'function')) {
    problems.push(problem('stop-invalid', 'stopWhen must be isStepCount(…), hasToolCall(…), a function, or several.'));
  }
  if (output === undefined) return problems;
  if (Object.hasOwn(tools, ANSWER)) {
    problems.push(problem('tool-taken', `tools.${ANSWER}: with output, the model answers by a tool of this name.`));
  }
  if ((wholeSchema(output, 'input', 'any') as { readonly type?: Json }).type !== 'object') {
    problems.push(problem('output-invalid', 'output must be the schema of an object, since models give it as a call.'));
  }
  return problems;
}

type Change = Readonly<Record<string, unknown>>;

async function think(ctx: AnyContext, spec: Spec, tools: Tools): Promise<Change> {
  const { stopWhen = isStepCount(AGENT_STEPS_DEFAULT_COUNT), settings, stream, output } = spec;
  const thoughts = (await ctx.outputs('think')) as readonly Thought[];
  const steps = stepsOf(thoughts, (await ctx.outputs('act')) as readonly Act[]);
  const last = thoughts.at(-1);
  const stop = last && [stopWhen].flat().find((condition: StopCondition) => condition({ steps }));
  if (last !== undefined && stop !== undefined) return stopped(last, steps.at(-1)!, stop, spec);
  const reply = await ctx.model({ bundle: BUNDLE, settings, stream });
  const { toolCalls: calls } = reply;
  const { text, finishReason } = reply;
  const { inputTokens, outputTokens } = reply.usage;
  const step: AgentStep = { text, toolCalls: calls as never, finishReason, usage: { inputTokens, outputTokens } };
  const answers = { output: { ...step, actCount: 0 }, lastAction: 'answers' };
  if (output !== undefined) {
    const object = await outputOf(ctx, reply, calls, spec, output);
    if (object !== undefined) return { ...answers, done: object, fragments: [agentMessage(JSON.stringify(object))] };
  } else if (calls.length === 0) {
    return { ...answers, done: { text, toolCalls: [], finishReason }, fragments: said(reply) };
  }
  // The result of one more tells the model of those that are left out: a checkpoint does not hold any number of them.
  const told = calls.slice(0, AGENT_CALLS_MAX_COUNT + 1);
  const ways = await Promise.all(told.map((call, at) => wayOf(call, at, calls.length, spec, tools)));
  const acts = ways.filter((way) => 'step' in way);
  return {
    output: { ...step, actCount: acts.length },
    lastAction: `calls ${toolNames(step.toolCalls).slice(0, ACTION_MAX_CHARS)}`,
    fragments: [...said({ ...reply, toolCalls: told }), ...ways.filter((way) => 'type' in way)],
    next: [...acts, task('think', {}, { after: acts })],
  };
}

/** With the calls that were made, and answered, of those that the model asked for. The acts of a thought come before the next one. */
function stepsOf(thoughts: readonly Thought[], acts: readonly Act[]): readonly AgentStep[] {
  let at = 0;
  return thoughts.map(({ actCount, toolCalls, ...step }) => {
    const own = acts.slice(at, at + actCount);
    at += actCount;
    return { ...step, toolCalls: toolCalls.filter((call) => own.some(({ id, isMade }) => isMade && id === call.id)) };
  });
}

/** The end by a condition. The step count is a bound: a run that met it has no answer, and says so. */
function stopped(last: Thought, step: AgentStep, { stepCount }: StopCondition, { output }: Spec): Change {
  const { text, toolCalls, finishReason } = step;
  if (stepCount === undefined && output === undefined)
    return { done: { text, toolCalls, finishReason }, output: { ...step, actCount: 0 } };
  const bound =
    stepCount === undefined ? 'stopWhen ended it' : `it has called its model ${stepCount} times (isStepCount)`;
  throw new FatalError(`The agent has not answered: ${bound}. The last calls were ${toolNames(last.toolCalls)}.`);
}

const toolNames = (calls: AgentStep['toolCalls']): string => calls.map(({ name }) => name).join(', ');

const formOf = ({ input, inputSchema }: Tool): Json => inputSchema ?? wholeSchema(input, 'input');

/**
 * The agent's output, where the model gave it: in a call of `answer` alone, or in words, which the model is then asked to give by that call.
 * Undefined: other calls come first, or it doesn't fit, which the result of the call says.
 */
async function outputOf(
  ctx: AnyContext,
  { text }: ModelReply,
  calls: readonly ModelToolCall[],
  { settings = {} }: Spec,
  schema: Schema,
): Promise<unknown> {
  const [call, ...others] = calls;
  if (call !== undefined) {
    if (others.length > 0 || call.name !== ANSWER) return undefined;
    const read = safeParse(schema, call.input);
    return read.success ? call.input : undefined;
  }
  const read = readObject(schema, text, false, 'The answer');
  if ('object' in read) return read.object;
  // Of a conversation with calls, providers want tools in each request. A choice is not forced: a model that thinks refuses that.
  const { toolChoice: _, ...rest } = settings;
  const asking = { bundle: BUNDLE, tools: [ANSWER], settings: rest };
  let { problem } = read;
  for (const isRepair of [false, true]) {
    const told = isRepair ? `${problem.message} ` : '';
    const prompt = `${text}\n\n${told}Give your answer by a call of ${ANSWER}, and nothing else.`;
    const { toolCalls, text: words } = await ctx.model({ ...asking, prompt });
    const given = toolCalls.find(({ name }) => name === ANSWER);
    const answer = readObject(schema, given === undefined ? words : JSON.stringify(given.input), false, 'The answer');
    if ('object' in answer) return answer.object;
    problem = answer.problem;
  }
  throw problem;
}

/** What becomes of a call: a task that makes it, perhaps once a person has agreed, or a result at once, which says why it is not made. */
async function wayOf(
  call: ModelToolCall,
  at: number,
  count: number,
  { output, toolApproval = {} }: Spec,
  tools: Tools,
) {
  if (at >= AGENT_CALLS_MAX_COUNT)
    return toolResult(
      call,
      `Not called, nor the ${count - at - 1} calls after it: at most ${AGENT_CALLS_MAX_COUNT} are made of one answer.`,
    );
  if (output !== undefined && call.name === ANSWER) {
    const read = safeParse(output, call.input);
    if (read.success) return toolResult(call, `Not taken: call ${ANSWER} alone, once other calls have their results.`);
  }
  const status = await approvalOf(call, tools, toolApproval);
  const { type } = status;
  if (type === 'denied') return toolResult(call, `Not called: ${status.reason ?? `${call.name} is denied here`}.`);
  if (type !== 'user-approval') return task('act', call);
  const { reason = `Call ${call.name}?`, assignee, within } = status;
  const asked = approval(call.name, { title: reason, detail: call.input, preset: call.input, assignee });
  return task('act', call, { when: within === undefined ? asked : anyOf(asked, timer(within)) });
}

type Ruling = Extract<ToolApproval, { readonly type: unknown }>;
const LEAVE: Ruling = { type: 'approved' };

/** A call that can't be made asks nobody: its result says what is wrong. */
async function approvalOf(
  call: ModelToolCall,
  tools: Tools,
  approvals: NonNullable<Spec['toolApproval']>,
): Promise<Ruling> {
  const rule = Object.hasOwn(approvals, call.name) ? approvals[call.name] : undefined;
  const read = rule === undefined ? undefined : safeParse(tools[call.name]!.input, call.input);
  if (read?.success !== true) return LEAVE;
  const given: ToolApproval = typeof rule === 'function' ? await rule(read.data as never) : rule;
  return rulingOf(call.name, given);
}

/** Whatever isn't clearly a leave must not become one. Throws `InvalidError` (`approval-invalid`, `duration-invalid`). */
function rulingOf(tool: string, given: ToolApproval): Ruling {
  const status = typeof given === 'string' ? ({ type: given } as Ruling) : given === undefined ? LEAVE : given;
  if (!['not-applicable', 'approved', 'denied', 'user-approval'].includes(status?.type)) {
    const known = "Give 'user-approval', 'approved', 'denied', 'not-applicable', or an object of such a type";
    throw new InvalidError('approval-invalid', `toolApproval.${tool} is ${JSON.stringify(given)}. ${known}.`);
  }
  if (status.type === 'user-approval' && status.within !== undefined) timer(status.within);
  return status;
}

type ActContext = Context<unknown, unknown, unknown, string, { readonly [name: ApprovalName]: Schema }>;

async function act(ctx: ActContext, call: ModelToolCall, spec: Spec, tools: Tools): Promise<Change> {
  const { cause } = ctx;
  const { name } = call;
  const result = (text: string, how = '', isMade = false): Change => ({
    output: { id: call.id, isMade },
    fragments: [toolResult(call, text)],
    lastAction: `${name.slice(0, ACTION_MAX_CHARS)}${how}`,
  });
  if (cause?.kind === 'timer') return result(`Not called: nobody approved ${name} in time.`, ', not approved in time');
  if (cause?.kind !== 'approval') {
    // Another version, with other rules, may have planned the call.
    const { type } = await approvalOf(call, tools, spec.toolApproval ?? {});
    if (type === 'denied' || type === 'user-approval')
      return result(`Not called: ${name} is made by other rules now. Call it again.`);
    const { text, isMade } = await outcomeOf(ctx, call);
    return result(text, '', isMade);
  }
  const { why, value } = cause;
  const words = why === null ? '' : ` They said: ${JSON.stringify(why)}`;
  if (!cause.approved) return result(`Not called: a person refused ${name}.${words}`, ', refused');
  const { text, isMade } = await outcomeOf(ctx, { ...call, input: value as Json });
  const isSame = canonicalJson(value as Json) === canonicalJson(call.input);
  const said = `A person changed the input to ${JSON.stringify(value)}.${words} The result: ${text}`;
  return result(isSame ? text : said, '', isMade);
}

/** What the model is told. A call that was certainly not done is told once no further attempt helps: another way may. */
async function outcomeOf(ctx: Pick<AnyContext, 'tool' | 'mayRetry'>, call: ModelToolCall) {
  try {
    const { text, isError } = await ctx.tool(call);
    return { text, isMade: !isError };
  } catch (error) {
    // A call that may have been made is for its probe, or for a person.
    if (!(error instanceof EffectError && error.isSettled)) throw error;
    if (error.cause instanceof FatalError || ctx.mayRetry(error)) throw error;
    return { text: `${call.name} failed: ${messageOf(error.cause)}`, isMade: false };
  }
}
