/**
 * Owns recording for code that uses the AI SDK already: generateText, streamText and the rest call their model through the step, and a
 * later attempt gets the recorded answer. Invariants: the SDK always gets the recorded answer, so the first attempt and every other see the
 * same; a stream ends only when its answer is in the log.
 */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Middleware,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { inexactNumber, type Json, PROMPT_FORMS, UnavailableError } from '@tidemark/core';
import type { ModelAnswer, ModelRequest } from '@tidemark/runtime';
import { type Answer, partsOf } from './answer.ts';
import { ask } from './ask.ts';
import { ModelNoAnswerError } from './errors.ts';
import { fitPrompt, streamedCallIds, withOwnCallIds } from './fit-prompt.ts';
import { type ModelOptions, traitsOf } from './model.ts';
import { filesIn, plain, withFileContents, withFileDigests } from './plain-json.ts';
import { replayed } from './replay.ts';

/** What the middleware needs of a step's context. */
export interface ModelCaller {
  modelCall(request: ModelRequest): Promise<ModelAnswer>;
}

/** For wrapLanguageModel({ model, middleware: tidemark(ctx) }), inside the step of `ctx`. */
export function tidemark(ctx: ModelCaller, options: ModelOptions = {}): LanguageModelV4Middleware {
  return {
    specificationVersion: 'v4',
    wrapGenerate: async ({ model, params }) => {
      const answer = await ctx.modelCall(requestOf(model, params, options, false, () => () => {}));
      return resultOf(answer);
    },
    wrapStream: async ({ model, params }) => recordedStream(ctx, model, params, options),
  };
}

/** Called when the model is really called; the returned listener receives the parts of that answer. */
type Listen = () => (part: LanguageModelV4StreamPart) => void;

function requestOf(
  languageModel: LanguageModelV4,
  params: LanguageModelV4CallOptions,
  options: ModelOptions,
  isStreamed: boolean,
  listen: Listen,
): ModelRequest {
  const { abortSignal } = params;
  const { secrets = [] } = options;
  const cap = params.maxOutputTokens ?? options.maxOutputTokens;
  const traits = traitsOf(languageModel, { ...options, maxOutputTokens: cap });
  const { tokenizer } = traits;
  const prompt = fitPrompt(params, traits.promptForm ?? PROMPT_FORMS[0]);
  const sent = { ...params, prompt, ...(cap !== undefined && { maxOutputTokens: cap }) };
  const asking =
    (options: LanguageModelV4CallOptions): ModelRequest['model']['answer'] =>
    async (_prompt, { signal, ...context }, streams) => {
      const either = abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]);
      const asker = { languageModel, tokenizer, secrets, onPart: listen() };
      const answer = await ask(asker, options, { ...context, signal: either }, streams);
      if (options.responseFormat?.type === 'json') requireExact(languageModel, answer);
      return answer;
    };
  return {
    model: { ...traits, answer: asking(sent) },
    ...recorded(sent),
    answerRecorded: (asked) => asking(sentAgain(asked, sent)),
    isStreamed,
  };
}

/** The SDK parses the text by itself, and a step would act on a rounded number. Throws `ModelNoAnswerError`. */
function requireExact({ provider, modelId }: LanguageModelV4, { text, usage, finishReason }: Answer): void {
  if (inexactNumber(text, 'The answer') !== undefined)
    throw new ModelNoAnswerError('inexact', `${provider} ${modelId}`, usage, finishReason);
}

/** The SDK would round a number in a tool's input and run the tool. It gets a text instead, which it refuses and gives to the model. */
function toldExactly<P extends LanguageModelV4Content | LanguageModelV4StreamPart>(part: P): P {
  if (part.type !== 'tool-call') return part;
  const why = inexactNumber(part.input, 'The input');
  return why === undefined ? part : { ...part, input: `The tool was not run. ${why} Input: ${part.input}` };
}

/**
 * What `recorded` made JSON of, from that JSON: with the headers of this attempt, and the content of its files, which the record has by
 * their digests alone.
 */
function sentAgain(
  { raw = [], tools, responseSchema, settings }: Parameters<NonNullable<ModelRequest['answerRecorded']>>[0],
  { prompt, headers, includeRawChunks }: LanguageModelV4CallOptions,
): LanguageModelV4CallOptions {
  const {
    responseName,
    responseDescription,
    toolDetails = [],
    ...rest
  } = (settings ?? {}) as Readonly<Record<string, Json>>;
  const details = toolDetails as unknown as readonly Partial<Tool>[];
  const functions = tools.map((tool) => {
    const more = details.find(({ type, name }) => type === undefined && name === tool.name);
    return { type: 'function', ...tool, ...more };
  });
  const all = [...functions, ...details.filter(({ type }) => type !== undefined)] as unknown as Tool[];
  return {
    ...rest,
    ...(headers !== undefined && { headers }),
    ...(includeRawChunks !== undefined && { includeRawChunks }),
    prompt: withFileContents(raw, filesIn(prompt)) as LanguageModelV4CallOptions['prompt'],
    ...(all.length > 0 && { tools: all }),
    ...(responseSchema !== null && {
      responseFormat: {
        type: 'json',
        schema: responseSchema as object,
        ...(responseName !== undefined && { name: responseName as string }),
        ...(responseDescription !== undefined && { description: responseDescription as string }),
      },
    }),
  };
}

/** All that identifies the request, as JSON: without headers and signals, and with files as their digests. */
function recorded(params: LanguageModelV4CallOptions): Omit<ModelRequest, 'model'> {
  const {
    prompt,
    tools = [],
    responseFormat,
    abortSignal: _,
    headers: __,
    includeRawChunks: ___,
    ...settings
  } = params;
  const format = responseFormat?.type === 'json' ? responseFormat : undefined;
  return {
    rawPrompt: prompt.map((message) => plain(withFileDigests(message)) ?? null),
    tools: tools
      .filter((tool) => tool.type === 'function')
      .map(({ name, description = '', inputSchema }) => ({
        name,
        description,
        inputSchema: plain(inputSchema) ?? null,
      })),
    ...(format !== undefined && { responseSchema: plain(format.schema ?? {}) ?? null }),
    settings:
      plain({
        ...settings,
        ...(format !== undefined && { responseName: format.name, responseDescription: format.description }),
        ...(tools.some(saysMore) && { toolDetails: tools.filter(saysMore).map(detailsOf) }),
      }) ?? null,
  };
}

type Tool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

/** A tool that the provider runs, or one with more than name, description and schema. */
const saysMore = (tool: Tool): boolean => Object.keys(detailsOf(tool)).length > 1;

function detailsOf(tool: Tool): Record<string, unknown> {
  if (tool.type !== 'function') return { ...tool };
  const { type: _, description: __, inputSchema: ___, ...rest } = tool;
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
}

function resultOf(answer: ModelAnswer): LanguageModelV4GenerateResult {
  const { content, structuredOutputText, finishReason, usage, providerMetadata, warnings, response } = withOwnCallIds(
    partsOf(answer),
  );
  return {
    content: content.map(toldExactly),
    ...(structuredOutputText !== undefined && { structuredOutputText }),
    finishReason,
    usage,
    ...(providerMetadata !== undefined && { providerMetadata }),
    warnings,
    ...(response !== undefined && { response }),
  };
}

/**
 * Returns a stream whose first part fails when the call fails. The call itself must not fail: streamText would report that to its onError
 * alone, and a step that reads the text would continue without any.
 */
function recordedStream(
  ctx: ModelCaller,
  model: LanguageModelV4,
  params: LanguageModelV4CallOptions,
  options: ModelOptions,
): LanguageModelV4StreamResult {
  const live = new LiveStream();
  ctx
    .modelCall(requestOf(model, params, options, true, () => live.listen()))
    .then((answer) => live.end(answer))
    .catch((error: unknown) => live.fail(error));
  return { stream: live.stream };
}

/** What is shown of an answer while it comes. A reader that stops doesn't stop the call: it is paid for, and recorded. */
class LiveStream {
  readonly stream: ReadableStream<LanguageModelV4StreamPart>;
  #controller: ReadableStreamDefaultController<LanguageModelV4StreamPart> | undefined;
  #shownCount = 0;
  /** The model was called again after parts of its first answer had been shown. */
  #isMixed = false;

  constructor() {
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.#controller = undefined;
      },
    });
  }

  /** For one call of the model. A second one is only shown while nothing of the first was. */
  listen(): (part: LanguageModelV4StreamPart) => void {
    if (this.#shownCount > 0) this.#isMixed = true;
    const owned = streamedCallIds();
    return this.#isMixed ? () => {} : (part) => this.#come(owned(part));
  }

  #come(part: LanguageModelV4StreamPart | undefined): void {
    // It is finished when the log has it, not before.
    if (part === undefined || part.type === 'finish') return;
    this.#shownCount += 1;
    this.#controller?.enqueue(toldExactly(part));
  }

  end(answer: ModelAnswer): void {
    if (this.#isMixed) {
      this.fail(
        new UnavailableError(
          'model-stream-repeated',
          'The model was called again after a part of its first answer had been shown. The second answer is recorded; another attempt at the step gets it whole.',
        ),
      );
      return;
    }
    const parts = replayed(withOwnCallIds(partsOf(answer)));
    for (const part of this.#shownCount === 0 ? parts : parts.slice(-1)) this.#controller?.enqueue(toldExactly(part));
    this.#controller?.close();
  }

  fail(error: unknown): void {
    this.#controller?.error(error);
  }
}
