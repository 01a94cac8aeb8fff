/**
 * Owns `ctx.model`: it turns a step's request into the runtime's model call, and the recorded answer into the step's reply. Must not call a
 * provider, nor count or record: the runtime does.
 */

import { ANSWER_BOUNDS, type BundleMessage, InvalidError, type Json, messageOf, parseJson } from '@tidemark/core';
import type { Model, ModelAnswer, StepContext } from '@tidemark/runtime';
import { toJSONSchema, type ZodType } from 'zod';
import { checkedFile } from './file.ts';
import { parser } from './parse.ts';
import type { Parsed, Schema } from './schema.ts';
import { type Tools, toolSpecs } from './tool.ts';

/** How often a structured answer that doesn't fit its schema is sent back to the model. */
const REPAIRS_MAX_COUNT = 1;

/** A step's request to a model. `Answer`: the schema of structured output. */
export interface ModelCallOptions<Answer extends Schema | undefined = undefined> {
  /** Which of the definition's models; `default` when absent. */
  readonly model?: string | undefined;
  /** A bundle type of the definition: what the agent knows comes first. */
  readonly bundle?: string | undefined;
  /** The prompt after the bundle: a text, or messages. */
  readonly prompt?: string | readonly BundleMessage[] | undefined;
  /** Keys of the phase's working memory to send before the prompt; one that is out of scope throws, and is counted. */
  readonly memory?: readonly string[] | undefined;
  /** The answer is JSON of this schema, in `reply.object`. One that doesn't fit is sent back to the model once. */
  readonly schema?: Answer;
  /** Names of the definition's tools that may be called; by default all, with `schema` none. */
  readonly tools?: readonly string[] | undefined;
  /** `temperature`, `seed`, `maxOutputTokens`, `stopSequences`, `providerOptions` …, as the model takes them. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** Values of `{{name}}` in system context, goals and constraints: resolved after assembly, not counted. */
  readonly placeholders?: Readonly<Record<string, string>> | undefined;
  /** Streams the answer to watchers of the run, piece by piece; the record is the same. */
  readonly stream?: boolean | undefined;
  /** Distinguishes the call from others of the step; by default, what it asks does. */
  readonly name?: string | undefined;
}

/** A model's answer. */
export interface ModelReply<Answer extends Schema | undefined = undefined> extends ModelAnswer {
  /** Structured output; undefined without a schema. */
  readonly object: Answer extends Schema ? Parsed<Answer> : undefined;
}

export interface ModelRules {
  /** `refund v2, step think`. */
  readonly where: string;
  readonly models: Readonly<Record<string, Model>>;
  readonly tools: Tools;
}

export async function callModel<Answer extends Schema | undefined>(
  context: StepContext,
  options: ModelCallOptions<Answer>,
  { where, models, tools }: ModelRules,
): Promise<ModelReply<Answer>> {
  const { schema, settings } = options;
  const named = options.model ?? 'default';
  const found = Object.hasOwn(models, named) ? models[named] : undefined;
  if (found === undefined) throw modelUnknown(where, named, models);
  const given = messagesOf(options as ModelCallOptions<never>, context);
  if (options.bundle === undefined && given.length === 0) {
    throw new InvalidError(
      'prompt-missing',
      `${where}: the call of ctx.model is empty: give a bundle, a prompt, or both.`,
    );
  }
  const request = {
    model: found,
    bundle: options.bundle,
    tools: toolSpecs(tools, options.tools ?? (schema === undefined ? undefined : []), where),
    responseSchema: schema === undefined ? undefined : schemaJson(schema),
    settings: settings as Json | undefined,
    placeholders: options.placeholders,
    isStreamed: options.stream,
  };
  let messages: readonly BundleMessage[] = given;
  for (let repairs = 0; ; repairs++) {
    const name = repairs === 0 || options.name === undefined ? options.name : `${options.name}:repair-${repairs}`;
    const answer = await context.modelCall({ ...request, messages, name });
    if (schema === undefined) return { ...answer, object: undefined } as ModelReply<Answer>;
    const read = readObject(schema, answer.text, `${where}, answer of ${found.modelId}`);
    if ('object' in read) return { ...answer, object: read.object } as ModelReply<Answer>;
    if (repairs === REPAIRS_MAX_COUNT) throw read.problem;
    messages = [
      ...messages,
      assistant(answer.text),
      user(`${read.problem.message} Answer again, with that JSON alone.`),
    ];
  }
}

const user = (text: string): BundleMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const assistant = (text: string): BundleMessage => ({ role: 'assistant', content: [{ type: 'text', text }] });

function messagesOf(
  { prompt = [], memory = [] }: ModelCallOptions<never>,
  context: StepContext,
): readonly BundleMessage[] {
  const asked = typeof prompt === 'string' ? [user(prompt)] : prompt;
  for (const { role, content } of asked)
    if (role === 'user') for (const part of content) if (part.type === 'file') checkedFile(part, 'ctx.model, prompt');
  return memory.length === 0 ? asked : [user(memoryText(memory, context)), ...asked];
}

/** Working memory in a prompt: a key that is out of scope is never sent, and the read counts it. */
const memoryText = (keys: readonly string[], { memory }: StepContext): string =>
  ['Working memory:', ...keys.map((key) => `- ${key}: ${JSON.stringify(memory.get(key))}`)].join('\n');

function schemaJson(schema: Schema): Json {
  const { $schema: _, ...rest } = toJSONSchema(schema as ZodType, { target: 'draft-7', io: 'input', reused: 'inline' });
  return rest as Json;
}

function readObject(
  schema: Schema,
  text: string,
  what: string,
): { readonly object: Json } | { readonly problem: InvalidError } {
  const border = { code: 'answer-unfit', what, remedy: 'It must be JSON of the schema.' };
  try {
    return { object: parser(schema, border)(parseJson(withoutFence(text), what, ANSWER_BOUNDS)) };
  } catch (error) {
    if (error instanceof InvalidError) return { problem: error };
    return { problem: new InvalidError('answer-unfit', messageOf(error)) };
  }
}

/** Models like to put JSON into a fence, though they are asked not to. */
function withoutFence(text: string): string {
  const fenced = text.trim();
  const [head] = /^```(?:json)?[^\S\n]*\n/.exec(fenced) ?? [];
  if (head === undefined || !fenced.endsWith('```') || fenced.length < head.length + 3) return text;
  return fenced.slice(head.length, -3).replace(/\n$/, '');
}

const modelUnknown = (where: string, named: string, models: ModelRules['models']): InvalidError =>
  new InvalidError(
    'model-unknown',
    `${where}: ctx.model names model '${named}', which isn't declared. Declared in models: ${Object.keys(models).join(', ') || 'none'}.`,
    { model: named },
  );
