/**
 * Owns `ctx.model`: it turns a step's request into the runtime's model call, and the recorded answer into the step's reply. Must not call a
 * provider, nor count or record: the runtime does.
 */

import { publishedSchema, toJson } from '@tidemark/codec';
import {
  type BundleMessage,
  callIds,
  InvalidError,
  type Json,
  MODEL_BOUNDS,
  messageOf,
  parseJson,
} from '@tidemark/core';
import type { Model, ModelAnswer, StepContext } from '@tidemark/runtime';
import { checkedFile } from './file.ts';
import { parser } from './parse.ts';
import type { Parsed, Schema } from './schema.ts';
import { type Tools, toolSpecs } from './tool.ts';

/** How often a structured answer that doesn't fit its schema is sent back to the model. */
const REPAIRS_MAX_COUNT = 1;
/** The member of an object under which an answer that is none is asked for. */
const WRAPPER = 'answer';

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
  const published = schema === undefined ? undefined : answerSchema(schema, where);
  const request = {
    model: found,
    bundle: options.bundle,
    tools: toolSpecs(tools, options.tools ?? (schema === undefined ? undefined : []), where),
    responseSchema: published?.schema,
    settings: settings as Json | undefined,
    placeholders: options.placeholders,
    isStreamed: options.stream,
  };
  let messages: readonly BundleMessage[] = given;
  for (let repairs = 0; ; repairs++) {
    const name = repairs === 0 || options.name === undefined ? options.name : `${options.name}:repair-${repairs}`;
    const answer = withOwnIds(await context.modelCall({ ...request, messages, name }));
    if (schema === undefined) return { ...answer, object: undefined } as ModelReply<Answer>;
    const read = readObject(schema, answer.text, published!.isWrapped, `${where}, answer of ${found.modelId}`);
    if ('object' in read) return { ...answer, object: read.object } as ModelReply<Answer>;
    if (repairs === REPAIRS_MAX_COUNT) throw read.problem;
    messages = [
      ...messages,
      assistant(answer.text),
      user(`${read.problem.message} Answer again, with that JSON alone.`),
    ];
  }
}

/** Some providers give no ids, or one to several calls: what acts on a call, and the fragments of both, must know it from the others. */
function withOwnIds(answer: ModelAnswer): ModelAnswer {
  const idFor = callIds();
  return { ...answer, toolCalls: answer.toolCalls.map((call) => ({ ...call, id: idFor(call.id) })) };
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
  // A member that is undefined is no field of a provider's.
  const said = toJson(asked, 'ctx.model, prompt') as unknown as readonly BundleMessage[];
  return memory.length === 0 ? said : [user(memoryText(memory, context)), ...said];
}

/** Working memory in a prompt: a key that is out of scope is never sent, and the read counts it. */
const memoryText = (keys: readonly string[], { memory }: StepContext): string =>
  ['Working memory:', ...keys.map((key) => `- ${key}: ${JSON.stringify(memory.get(key))}`)].join('\n');

/** Providers want an object whose members are known: anything else is asked for as the member `answer` of one. */
function answerSchema(schema: Schema, where: string): { readonly schema: Json; readonly isWrapped: boolean } {
  try {
    const own = publishedSchema(schema, { io: 'input', isClosed: true });
    if (own.type === 'object') return { schema: own as Json, isWrapped: false };
    const properties = { [WRAPPER]: own as Json };
    return {
      schema: { type: 'object', properties, required: [WRAPPER], additionalProperties: false },
      isWrapped: true,
    };
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new InvalidError(error.code, `${where}: the schema of the answer, ${error.message}.`, error.details);
  }
}

/** A model may answer without the wrapper all the same. */
function unwrapped(answer: Json, isWrapped: boolean): Json {
  if (!isWrapped || typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer;
  const { [WRAPPER]: only, ...others } = answer as { readonly [name: string]: Json };
  return only === undefined || Object.keys(others).length > 0 ? answer : only;
}

export function readObject(
  schema: Schema,
  text: string,
  isWrapped: boolean,
  what: string,
): { readonly object: Json } | { readonly problem: InvalidError } {
  const border = { code: 'answer-unfit', what, remedy: 'It must be JSON of the schema.' };
  try {
    const answer = unwrapped(parseJson(withoutFence(text), what, MODEL_BOUNDS), isWrapped);
    return { object: parser(schema, border)(answer) };
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
