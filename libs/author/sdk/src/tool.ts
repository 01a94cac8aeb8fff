/**
 * Owns tools: what a model may call, and what that does. A tool is an effect, so a completed call is not repeated, or a journaled closure
 * where nothing outside changes. Text from a model can neither name an undeclared tool nor pass an input that doesn't fit: such a call
 * returns to the model as an error (C5a).
 */

import { NAME_MAX_CHARS, type PortableSchema, publishedSchema, toJson } from '@tidemark/codec';
import { canonicalJson, InvalidError, inexactNumber, type Json, portableName } from '@tidemark/core';
import {
  type EffectDefinition,
  type ModelToolCall,
  type StepContext,
  sha256Digest,
  type ToolSpec,
} from '@tidemark/runtime';
import { z } from 'zod';
import { safeParse } from 'zod/v4/core';
import { defineEffect, type Effect } from './effect.ts';
import { withoutFiles } from './file.ts';
import { pathText } from './parse.ts';
import type { DefinitionProblem } from './problem.ts';
import type { Given, Parsed, Schema } from './schema.ts';

/** Of a tool call: characters of its id, and of the digest of its request, in its effect's key. */
const CALL_ID_MAX_CHARS = 100;
const CALL_DIGEST_CHARS = 16;
/** Time-out of a tool that only answers, in milliseconds. */
const TOOL_TIMEOUT_MS = 600_000;

/** A user's tool; its name is its key in `tools`. */
export type ToolOptions<Input extends Schema, Request extends Schema = Schema> = ToolParts<Input, Request> &
  (Parsed<NoInfer<Input>> extends Given<NoInfer<Request>> ? unknown : RequestOf<Input, Request>);

/** Where the effect asks for something else than the tool's input. */
interface RequestOf<Input extends Schema, Request extends Schema> {
  readonly request: (input: Parsed<NoInfer<Input>>) => Given<NoInfer<Request>>;
}

interface ToolParts<Input extends Schema, Request extends Schema> {
  /** What it does and when to use it, for the model. */
  readonly description: string;
  readonly input: Input;
  /** Acts outside, under the guarantees of an effect. Either this or `run`. */
  readonly effect?: Effect<Request> | undefined;
  /** The effect's request from the tool's input; by default the input itself, where that fits. */
  readonly request?: ((input: Parsed<NoInfer<Input>>) => Given<NoInfer<Request>>) | undefined;
  /** Answers without changing anything outside. */
  readonly run?: ((input: Parsed<NoInfer<Input>>, signal: AbortSignal) => unknown) | undefined;
}

export interface Tool<Input extends Schema = Schema> {
  readonly description: string;
  readonly input: Input;
  readonly effect?: Effect | undefined;
  readonly request?: ((input: never) => unknown) | undefined;
  readonly run?: ((input: never, signal: AbortSignal) => unknown) | undefined;
  /** What models are told of the input, where that isn't made from `input`. */
  readonly inputSchema?: Json | undefined;
  /** How a response reads to the model; by default as a text or JSON. */
  readonly outcome?: ((response: Json) => Pick<ToolOutcome, 'text' | 'isError'>) | undefined;
}

/** The schema of a tool call, for a task that makes it: `tasks: { act: toolCallSchema }`. */
export const toolCallSchema = z.object({ id: z.string(), name: z.string(), input: z.json() });

/** The outcome of a tool call. */
export interface ToolOutcome {
  readonly call: string;
  readonly tool: string;
  /** For the model. */
  readonly text: string;
  /** The tool's result; null where the call could not be made. */
  readonly result: Json;
  /** The model named an unknown tool, gave an input that doesn't fit, or the tool says that it failed: the text says so. */
  readonly isError: boolean;
}

/** Types the tool's functions by its input. */
export const tool = <Input extends Schema, Request extends Schema = Schema>(
  options: ToolOptions<Input, Request>,
): Tool<Input> => options as unknown as Tool<Input>;

export type Tools = Readonly<Record<string, Tool>>;

/** Returns every mistake in declared tools. */
export function toolProblems(tools: Tools): readonly DefinitionProblem[] {
  return Object.entries(tools).flatMap(([name, { description, input, effect, run, ...others }]) => {
    const problem = (message: string): DefinitionProblem => ({
      code: 'tool-invalid',
      message: `tools.${name}${message}`,
    });
    // Its `execute` doesn't say what a repetition does.
    if ('execute' in others || (input === undefined && 'inputSchema' in others))
      return [
        problem(' is made for the AI SDK: give input, and run where it changes nothing outside, else an effect.'),
      ];
    const problems: DefinitionProblem[] = [];
    if (portableName(name) !== name)
      problems.push(problem(': a tool is named with 1 to 64 letters, digits, _ and -, the first a letter or _.'));
    if (typeof description !== 'string' || description === '')
      problems.push(problem('.description must say what it does.'));
    if ((effect === undefined) === (run === undefined)) problems.push(problem(' must have either an effect or run.'));
    try {
      if (inputSchema(input).type !== 'object')
        problems.push(problem('.input must be an object: models name their arguments.'));
    } catch (error) {
      problems.push(problem(`.input has no JSON schema: ${(error as Error).message}.`));
    }
    return problems;
  });
}

const toolSpec = (name: string, { description, input, inputSchema: given }: Tool): ToolSpec => ({
  name,
  description,
  inputSchema: given ?? (inputSchema(input) as Json),
});

const inputSchema = (schema: Schema): PortableSchema => publishedSchema(schema, { io: 'input' });

/** Makes the call. Throws what the effect or the closure throws; a call that doesn't fit is an outcome. */
export const callTool = (tools: Tools, context: StepContext, call: ModelToolCall): Promise<ToolOutcome> =>
  answeredBy(tools, call, (input, found) => perform(call.name, found, context, call, input as never));

/** The outcome of a call that `answer` makes, given the tool's parsed input. A call that doesn't fit is not made, and says so. */
export async function answeredBy(
  tools: Tools,
  { id, name, input }: ModelToolCall,
  answer: (input: unknown, found: Tool) => Promise<Json>,
): Promise<ToolOutcome> {
  const found = Object.hasOwn(tools, name) ? tools[name] : undefined;
  const refused = (text: string): ToolOutcome => ({ call: id, tool: name, text, result: null, isError: true });
  if (found === undefined) {
    return refused(
      `There is no tool named ${JSON.stringify(name.slice(0, NAME_MAX_CHARS))}. Tools: ${Object.keys(tools).join(', ') || 'none'}.`,
    );
  }
  // Input stays a text where a number in it would be rounded: the tool would act on something else.
  const rounded = typeof input === 'string' ? inexactNumber(input, `The input of ${name}`) : undefined;
  if (rounded !== undefined) return refused(`Nothing was run. ${rounded} Call it again with that number in quotes.`);
  const parsed = safeParse(found.input, input);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${pathText(path) || 'input'}: ${message}`);
    return refused(`The input of ${name} doesn't fit: ${problems.join('; ')}. Call it again with an input that does.`);
  }
  const result = await answer(parsed.data, found);
  const { text, isError } = found.outcome?.(result) ?? {
    text: typeof result === 'string' ? result : JSON.stringify(withoutFiles(result)),
    isError: false,
  };
  return { call: id, tool: name, text, result, isError };
}

/** Models reuse their call ids: a call is identified by its request as well, and the same call twice is one. */
function perform(name: string, found: Tool, context: StepContext, call: ModelToolCall, input: never): Promise<Json> {
  const asked = sha256Digest.sha256(canonicalJson([name, call.input])).slice(0, CALL_DIGEST_CHARS);
  const options = { name: `${call.id.slice(0, CALL_ID_MAX_CHARS).toWellFormed()}-${asked}` };
  const request = found.request === undefined ? input : found.request(input);
  const effect = found.effect ?? answering(name, found.run!);
  return context.effect(effect, request, { ...options, question: [name, call.input] });
}

/** A tool that only answers is an effect as well: recorded, and counted when the model calls it again and again. */
const answering = (name: string, run: NonNullable<Tool['run']>): EffectDefinition => ({
  ...defineEffect({
    operation: `tool.${name}`,
    kind: 'idempotent',
    request: z.json(),
    response: z.json(),
    timeoutMs: TOOL_TIMEOUT_MS,
    call: async () => null,
  }),
  changesNothing: true,
  call: async (request, { signal }) => toJson((await run(request as never, signal)) ?? null, `result of tool ${name}`),
});

/** Throws `InvalidError` (`tool-unknown`) for names that aren't declared. */
export function toolSpecs(tools: Tools, names: readonly string[] | undefined, where: string): readonly ToolSpec[] {
  // Providers refuse a tool that is offered twice.
  return [...new Set(names ?? Object.keys(tools))].map((name) => {
    const found = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (found !== undefined) return toolSpec(name, found);
    throw new InvalidError(
      'tool-unknown',
      `${where}: no tool is named '${name}'. Declared in tools: ${Object.keys(tools).join(', ') || 'none'}.`,
      { tool: name },
    );
  });
}
