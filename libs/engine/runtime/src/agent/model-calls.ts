/**
 * Owns model calls as effects. The prompt is built just before the call; the intention records its origin, reservation and texts, the
 * resolution the answer and its cost. A call is never pure: an answered call is never paid twice (I4), and a retry sends what was recorded.
 * It knows no provider.
 */

import {
  type BundleOrigin,
  canonicalJson,
  type Payloads,
  parseContent,
  type SentPrompt,
  toJson,
} from '@tidemark/codec';
import {
  base64Bytes,
  CorruptError,
  type EffectKey,
  FRAGMENT_TYPES,
  type Fragment,
  fileTokens,
  InvalidError,
  isReplay,
  type Json,
  LimitError,
  MESSAGE_OVERHEAD_TOKENS,
  NO_SPEND,
  type PortablePrompt,
  PROMPT_FORMS,
  partsOwner,
  portableName,
  portablePrompt,
  type Sha256,
  type TaskId,
  UnavailableError,
} from '@tidemark/core';
import type { CallScope } from '@tidemark/ports';
import type {
  ContextDefinition,
  EffectContext,
  EffectDefinition,
  Model,
  ModelAnswer,
  ModelDelta,
  ModelPrompt,
  ModelRequest,
  PreparedCall,
  RecordedAsk,
  RecordedPrompt,
} from '../definition/index.ts';
import { callScopes } from '../definition/index.ts';
import { isIntended, refuseRepeats } from '../effects/index.ts';
import { SHARED_TEXT_MIN_CHARS } from '../history/index.ts';
import { digestOf, storableText } from '../kernel/index.ts';
import { bundleOf, earlierRun, type Origin, type PhasedBundle, readTexts, textsOf } from './bundle-origin.ts';
import { parseAnswer, spentFor } from './model-answer.ts';
import { countAnswer, countFailedCall } from './model-metrics.ts';
import { type ModelDependencies, ModelReservation } from './model-reservation.ts';
import { PromptChain, promptMessages } from './prompt-chain.ts';
import { SessionContext } from './session-context.ts';

/** Operation of every model call: `--call N` counts these within a step. */
export const MODEL_OPERATION = 'model';

/** Code of the error about a prompt that the model has no room for. */
export const PROMPT_TOO_LONG = 'prompt-too-long';

/** Codes of what a model answered that is no answer. */
const NO_ANSWER_CODE = /^answer-(?:empty|filtered|inexact)$/;

const NO_CONTEXT: Pick<ContextDefinition, 'bundles' | 'system' | 'firstPhase' | 'budgets' | 'repeatsMax'> = {
  bundles: new Map(),
  system: undefined,
  firstPhase: undefined,
  budgets: { call: {}, step: {}, workflow: {} },
  repeatsMax: Number.POSITIVE_INFINITY,
};

/** The model calls of one claimed workflow. */
export class ModelCalls {
  readonly #dependencies: ModelDependencies;
  readonly #session: SessionContext;
  readonly #chain: PromptChain;
  readonly #onces = new Map<string, Promise<unknown>>();

  constructor(dependencies: ModelDependencies) {
    this.#dependencies = dependencies;
    this.#session = new SessionContext(dependencies);
    this.#chain = new PromptChain(dependencies.ports.digest);
  }

  /** The call as an effect of the task, and what identifies its question. Throws `InvalidError` (`bundle-unknown`, `model-in-undo`). */
  effect(
    task: TaskId,
    request: ModelRequest,
    signal: AbortSignal,
  ): { readonly effect: EffectDefinition; readonly asked: Json } {
    const { definition, state } = this.#dependencies;
    if (state().compensates !== null) throw inUndo(definition.name);
    const call = new ModelCall(this.#dependencies, this.#session, this.#chain, task, request, signal);
    return { effect: call.effect(), asked: call.asked() };
  }

  /** Fragments of earlier workflows of the session, as bundles show them. */
  async earlierRuns(): Promise<readonly Fragment[]> {
    const { runs } = await this.#session.sessionHistory(true);
    const found = await Promise.all(runs.map((one, at) => earlierRun(this.#dependencies.ports.store, one, -at - 1)));
    return found.flat();
  }

  /** Runs the work once for each name, however many tasks need it at once; all of them share a failure, after which it may run again. */
  once<T>(name: string, work: () => Promise<T>): Promise<T> {
    const known = this.#onces.get(name);
    if (known !== undefined) return known as Promise<T>;
    const made = work().catch((error: unknown) => {
      this.#onces.delete(name);
      throw error;
    });
    this.#onces.set(name, made);
    return made;
  }

  /** The effect, with a count of equal requests: an agent that makes the same call again and again is stopped. */
  counted(task: TaskId, effect: EffectDefinition, asked: Json): EffectDefinition {
    const { ports, definition, state } = this.#dependencies;
    const question = digestOf(ports.digest, [effect.operation, asked]);
    return {
      ...effect,
      prepare: async (key, _recorded, isAnswered = isReplay(state())) => {
        const { repeatsMax } = definition.context ?? NO_CONTEXT;
        // A replay is bounded by its records.
        const isCounted = !isAnswered && !isIntended(state(), task, key);
        if (isCounted) refuseRepeats(state(), question, repeatsMax, effect.operation, key);
        return { control: { question }, payload: {} };
      },
    };
  }
}

class ModelCall {
  readonly #dependencies: ModelDependencies;
  readonly #session: SessionContext;
  readonly #chain: PromptChain;
  readonly #task: TaskId;
  readonly #request: ModelRequest;
  readonly #rules: Pick<ContextDefinition, 'bundles' | 'system' | 'firstPhase' | 'budgets' | 'repeatsMax'>;
  readonly #reservation: ModelReservation;
  readonly #signal: AbortSignal;
  /** The bundle that `prepare` assembled, and what is sent, for the `call` that follows. */
  #bundle: PhasedBundle | undefined;
  #sent: PortablePrompt | undefined;
  /** Tokens that the call sends, counted once for what `prepare` made. */
  #inputTokens: number | undefined;

  constructor(
    dependencies: ModelDependencies,
    session: SessionContext,
    chain: PromptChain,
    task: TaskId,
    request: ModelRequest,
    signal: AbortSignal,
  ) {
    this.#reservation = new ModelReservation(dependencies, task, request, signal);
    this.#signal = signal;
    this.#dependencies = dependencies;
    this.#session = session;
    this.#chain = chain;
    this.#task = task;
    this.#request = request;
    this.#rules = dependencies.definition.context ?? NO_CONTEXT;
    if (request.bundle !== undefined && !this.#rules.bundles.has(request.bundle)) {
      const known = [...this.#rules.bundles.keys()].join(', ') || 'none';
      throw new InvalidError(
        'bundle-unknown',
        `${dependencies.definition.name}: no bundle type is named '${request.bundle}'. Declared in bundles: ${known}.`,
        { bundle: request.bundle },
      );
    }
  }

  /** `of`: the prompt that the call sends, whatever the journal has of it. */
  effect(of?: RecordedPrompt): EffectDefinition {
    const { model } = this.#request;
    return {
      operation: MODEL_OPERATION,
      kind: 'idempotent',
      timeoutMs: model.timeoutMs,
      confirm: { probeEveryMs: model.timeoutMs, timeoutMs: model.timeoutMs },
      retry: model.retry,
      receiver: describe(model),
      scopesOf: () => scopesOf(model),
      parseRequest: (value) => toJson(value, 'request of a model call'),
      parseResponse: (value) => parseAnswer(value),
      call: (_request, context) => this.#call(context),
      prepare: (key, recorded, isAnswered = isReplay(this.#dependencies.state())) =>
        this.#prepare(key, of ?? recorded, isAnswered),
      asRecorded: (intended, isAnswered) => this.#asRecorded(intended, isAnswered),
      isAnother: (recorded) => !this.#asksSameModel(recorded),
      spentOf: (response) => spentFor(response as unknown as ModelAnswer),
      lostOf: (error) => this.#reservation.lost(error),
    };
  }

  /** Identifies the question for every attempt, whatever the context is by then. It has large parts by their digests. */
  asked(): Json {
    const { model, bundle, settings, placeholders } = this.#request;
    return {
      provider: model.provider,
      model: model.modelId,
      bundle: bundle ?? null,
      messages: this.#digest(this.#messages()),
      tools: this.#digest(this.#tools()),
      schema: this.#digest(this.#request.responseSchema ?? null),
      settings: settings ?? null,
      ...(placeholders !== undefined && { placeholders: this.#digest(placeholders) }),
    };
  }

  /** What is recorded may differ from the new request in anything; all of it is in the workflow's texts. */
  async #asRecorded(intended: Payloads['EffectIntended'], isAnswered: boolean): Promise<RecordedAsk> {
    const asked = intended.request as unknown as Asked;
    if (!isAnswered && !this.#asksSameModel(intended.request)) {
      const { provider, modelId } = this.#request.model;
      throw unsendable(
        `it was asked of ${asked.provider} ${asked.model}, and this attempt asks ${provider} ${modelId}`,
      );
    }
    const recorded = await this.#recorded(asked, intended).catch((error: unknown) => {
      if (!(error instanceof CorruptError)) throw error;
      if (isAnswered) return undefined;
      throw unsendable(error.message);
    });
    const own = this.asked() as unknown as Asked;
    if (recorded === undefined) return { effect: this.effect(), before: intended.request, now: this.asked() };
    const call = new ModelCall(this.#dependencies, this.#session, this.#chain, this.#task, recorded, this.#signal);
    const compared = { before: call.#inFull(asked), now: this.#inFull(own) };
    if (isAnswered) return { effect: this.effect(), ...compared };
    if (this.#digest(call.asked()) !== this.#digest(intended.request)) throw unsendable('not all of it is stored');
    return { effect: call.#sending().effect(intended), ...compared };
  }

  #asksSameModel(recorded: Json): boolean {
    const { provider, model } = recorded as unknown as Asked;
    return provider === this.#request.model.provider && model === this.#request.model.modelId;
  }

  /** The same with a raw prompt that is sent as it is recorded. */
  #sending(): ModelCall {
    const { rawPrompt, model, answerRecorded, tools = [], responseSchema = null, settings = null } = this.#request;
    if (rawPrompt === undefined) return this;
    if (answerRecorded === undefined) throw unsendable('its prompt has the form of another library');
    const answer = answerRecorded({ raw: rawPrompt, tools, responseSchema, settings });
    const request = { ...this.#request, model: { ...model, answer } };
    return new ModelCall(this.#dependencies, this.#session, this.#chain, this.#task, request, this.#signal);
  }

  async #recorded(asked: Asked, { bundle, prompt, tools, schema }: Payloads['EffectIntended']): Promise<ModelRequest> {
    const { ports, state, applied } = this.#dependencies;
    const { model, rawPrompt, answerRecorded, isStreamed, name } = this.#request;
    await applied();
    const read = (digests: readonly Sha256[]) => readTexts(ports.store, state().workflow, digests);
    const messages = await promptMessages(prompt ?? null, read);
    const text = await read([tools, schema].flatMap((digest) => digest ?? []));
    const parsed = (digest: Sha256 | undefined) => (digest === undefined ? undefined : parseContent(text(digest)));
    const request = {
      ...{ model, isStreamed, name, placeholders: bundle?.placeholders, responseSchema: parsed(schema) },
      ...{ bundle: asked.bundle ?? undefined, settings: asked.settings ?? undefined },
      tools: parsed(tools) as unknown as ModelRequest['tools'],
    };
    if (rawPrompt !== undefined) return { ...request, rawPrompt: messages, answerRecorded };
    return { ...request, messages: messages as unknown as ModelRequest['messages'] };
  }

  /** What it asks, with messages, tools and schema themselves, to name the field in which it differs. */
  #inFull(asked: Asked): Json {
    const { responseSchema } = this.#request;
    return { ...asked, messages: this.#messages(), tools: this.#tools(), schema: responseSchema ?? null } as Json;
  }

  #messages(): readonly Json[] {
    return this.#request.rawPrompt ?? ((this.#request.messages ?? []) as unknown as readonly Json[]);
  }

  #tools(): Json {
    return (this.#request.tools ?? []) as unknown as Json;
  }

  #digest(value: Json): Sha256 {
    return digestOf(this.#dependencies.ports.digest, value);
  }

  /** `isAnswered`: it calls nothing and pays nothing, so it checks no budget; the recorded answer has its cost. */
  async #prepare(key: EffectKey, recorded: RecordedPrompt | undefined, isAnswered: boolean): Promise<PreparedCall> {
    const texts = new Map<Sha256, string>();
    const { origin, bundle } = await this.#originFor(recorded?.bundle, texts);
    this.#bundle = bundle;
    this.#inputTokens = undefined;
    this.#requireContent();
    const sent = this.#fit(recorded?.sent?.form ?? this.#request.model.promptForm ?? PROMPT_FORMS[0]);
    const { prompt, texts: said, stored } = this.#chain.add(this.#messages());
    for (const [digest, text] of said) texts.set(digest, text);
    const { tools = [], responseSchema = null } = this.#request;
    const named = {
      ...(tools.length > 0 && { tools: this.#addText(texts, JSON.stringify(tools), true) }),
      ...(responseSchema !== null && { schema: this.#addText(texts, JSON.stringify(responseSchema), true) }),
    };
    await this.#dependencies.context.learn(this.#dependencies.ports.store, this.#dependencies.state().workflow, [
      ...texts.keys(),
    ]);
    const fresh = [...texts].filter(([digest]) => !this.#dependencies.context.has(digest));
    const reserved = isAnswered ? NO_SPEND : this.#reservation.reserve(this.#estimate());
    const question = this.#question();
    if (!isAnswered) {
      this.#checkLength(reserved.tokens);
      await this.#reservation.check(key);
      this.#checkRepeats(question, key);
    }
    return {
      control: { model: { bundle: this.#bundle?.hash ?? null, reserved }, question, hasContext: true },
      payload: {
        ...(origin !== undefined && { bundle: { ...origin, messages: bundle!.manifest.messages } }),
        ...(prompt !== null && { prompt }),
        ...(sent !== undefined && { sent }),
        ...named,
        ...(fresh.length > 0 && { texts: Object.fromEntries(fresh) }),
      },
      confirm: () => {
        for (const [digest, text] of fresh) this.#dependencies.context.keepNamed(digest, text);
        stored();
        return isAnswered ? Promise.resolve() : this.#confirm(key, question);
      },
    };
  }

  /** Makes bundle and prompt fit to be sent, and returns what is recorded of that. A raw prompt is the library's that made it. */
  #fit(form: string): SentPrompt | undefined {
    const { rawPrompt, messages = [], tools = [] } = this.#request;
    if (rawPrompt !== undefined) return undefined;
    const declared = new Map(tools.map(({ name }) => [name, name]));
    this.#sent = portablePrompt([...(this.#bundle?.messages ?? []), ...messages], form, declared);
    const names = [...declared].filter(([name, sent]) => sent !== portableName(name));
    return {
      form,
      ...(names.length > 0 && { names: Object.fromEntries(names) }),
      messages: this.#digest(this.#sent.messages as unknown as Json),
    };
  }

  #estimate(): number {
    this.#inputTokens ??= this.#counted();
    return this.#inputTokens;
  }

  #counted(): number {
    const spoken = this.#messages().reduce((sum: number, message) => sum + this.#spoken(message), 0);
    const { tools, responseSchema } = this.#request;
    const forms = tools === undefined ? 0 : this.#count(this.#tools());
    const schema = responseSchema == null ? 0 : this.#count(responseSchema);
    const added = (this.#sent?.added ?? []).reduce((sum, text) => sum + MESSAGE_OVERHEAD_TOKENS + this.#count(text), 0);
    return (this.#bundle?.bundle.token_estimate ?? 0) + spoken + forms + schema + added;
  }

  /** A file counts as one, not as its base64 or its digest. */
  #spoken(message: Json): number {
    const files: number[] = [];
    const rest = withoutFiles(message, (tokens) => files.push(tokens));
    return files.reduce((sum, tokens) => sum + tokens, this.#count(rest));
  }

  /** A prompt that the model has no room for is refused by us, at no cost. */
  #checkLength(tokens: number): void {
    const { model } = this.#request;
    const { contextTokens } = model;
    if (contextTokens === undefined || tokens <= contextTokens) return;
    const inputTokens = this.#estimate();
    throw new LimitError(
      PROMPT_TOO_LONG,
      `${this.#dependencies.definition.name}: the call of ${describe(model)} takes ${tokens} tokens (bundle, prompt and tools ${inputTokens}, reserved for the answer ${tokens - inputTokens}), and the model has ${contextTokens}. Lower the bundle's budgetTokens or maxOutputTokens, shorten the prompt, or use a model with more.`,
      { model: model.modelId, tokens, inputTokens, contextTokens },
    );
  }

  #requireContent(): void {
    if ((this.#bundle?.messages.length ?? 0) + this.#messages().length > 0) return;
    throw new InvalidError(
      'prompt-missing',
      `${this.#dependencies.definition.name}: the bundle '${this.#request.bundle}' is empty and the call has no prompt: there is nothing to ask. Add a goal or a message (fragments), or a prompt.`,
      { bundle: this.#request.bundle },
    );
  }

  /**
   * Sends what was recorded again. If that can't be rebuilt (another tokenizer, other rules), it builds the prompt from the current state,
   * which the journal sees and warns of.
   */
  async #originFor(
    recorded: BundleOrigin | undefined,
    texts: Map<Sha256, string>,
  ): Promise<{ readonly origin: Origin | undefined; readonly bundle: PhasedBundle | undefined }> {
    if (recorded !== undefined && recorded.tokenizer === this.#request.model.tokenizer.id) {
      const bundle = await this.#assemble(recorded, texts);
      if (this.#digest(bundle.messages as unknown as Json) === recorded.messages) return { origin: recorded, bundle };
    }
    const asked = await this.#origin(texts);
    if (asked === undefined) return { origin: undefined, bundle: undefined };
    const bundle = await this.#assemble(asked, texts);
    const { provider, ...rest } = asked;
    return { origin: bundle.isForProvider ? { ...rest, provider: provider! } : rest, bundle };
  }

  async #origin(texts: Map<Sha256, string>): Promise<Origin | undefined> {
    const { bundle, model, placeholders } = this.#request;
    if (bundle === undefined) return undefined;
    const { state, input } = this.#dependencies;
    const policy = this.#rules.bundles.get(bundle)!;
    const reported = this.#rules.system?.(input());
    const system = reported === undefined ? undefined : storableText(reported);
    const dependencies = await this.#session.sessionHistory(policy.session);
    for (const [name, text] of dependencies.texts) texts.set(name, text);
    return {
      type: bundle,
      upTo: state().head.sequence,
      policy: this.#addText(texts, canonicalJson(policy as unknown as Json), true),
      tokenizer: model.tokenizer.id,
      ...(dependencies.runs.length > 0 && { session: dependencies.runs }),
      ...(dependencies.continuation !== undefined && { continuation: dependencies.continuation }),
      ...(dependencies.user !== undefined && { user: dependencies.user }),
      ...(system !== undefined && { system: this.#addText(texts, system, true) }),
      ...(placeholders !== undefined && { placeholders }),
      ...(this.#rules.firstPhase !== undefined && { firstPhase: this.#rules.firstPhase }),
      provider: partsOwner(model),
    };
  }

  /** A text that an origin names must be stored, however short it is. */
  #addText(texts: Map<Sha256, string>, text: string, isNamed = false): Sha256 {
    const digest = this.#dependencies.ports.digest.sha256(text);
    if (isNamed || text.length >= SHARED_TEXT_MIN_CHARS) texts.set(digest, text);
    return digest;
  }

  async #assemble(origin: Origin, texts: ReadonlyMap<Sha256, string>): Promise<PhasedBundle> {
    const { ports, context, state } = this.#dependencies;
    const { workflow } = state();
    const stored = [origin.policy, origin.system, origin.user, origin.continuation].every(
      (name) => name === undefined || texts.has(name),
    )
      ? undefined
      : await textsOf(origin, workflow, ports.store);
    const text = (digest: Sha256): string => texts.get(digest) ?? stored!(digest);
    const { tokenizer } = this.#request.model;
    return bundleOf(origin, { workflow, context, reads: ports.store, tokenizer, digest: ports.digest, text });
  }

  #count(value: Json): number {
    return this.#request.model.tokenizer.count(canonicalJson(value));
  }

  /** Checks again, with everything that was intended meanwhile. */
  async #confirm(key: EffectKey, question: Sha256): Promise<void> {
    const { model } = this.#request;
    refuseRepeats(this.#dependencies.state(), question, this.#rules.repeatsMax, model.modelId, key, true);
    await this.#reservation.confirm(key);
    this.#countPhase();
  }

  /** So that a phase whose prompts suddenly grow is seen, and one that is shown what others said. */
  #countPhase(): void {
    const { ports, definition } = this.#dependencies;
    const { phase, otherPhaseCount = 0 } = this.#bundle ?? {};
    if (phase === undefined) return;
    const of = { definition: definition.name, phase };
    ports.telemetry.count('phase_prompts_total', 1, of);
    ports.telemetry.count('phase_prompt_tokens_total', this.#estimate(), of);
    if (otherPhaseCount > 0) ports.telemetry.count('memory_scope_violations_total', otherPhaseCount, { phase });
  }

  /**
   * The same words to the same model are the same question, whichever step asks. The trace does not count, because it grows with each
   * question.
   */
  #question(): Sha256 {
    const said = this.#bundle?.manifest.items.filter(({ type }) =>
      (FRAGMENT_TYPES as readonly string[]).includes(type),
    );
    return this.#digest([
      this.asked(),
      (said ?? []).flatMap(({ digest, state }) => (state === 'kept' ? [digest] : [])),
    ]);
  }

  #checkRepeats(question: Sha256, key: EffectKey): void {
    const state = this.#dependencies.state();
    if (isIntended(state, this.#task, key)) return;
    refuseRepeats(state, question, this.#rules.repeatsMax, `model ${this.#request.model.modelId}`, key);
  }

  async #call(context: EffectContext): Promise<Json> {
    const { ports, state, onStream } = this.#dependencies;
    const { model, tools = [], responseSchema = null, settings = null, rawPrompt, isStreamed = false } = this.#request;
    const prompt: ModelPrompt = {
      messages: this.#sent?.messages ?? [],
      raw: rawPrompt,
      tools,
      responseSchema,
      settings,
    };
    const startedMs = ports.clock.monotonicMs();
    const stream = isStreamed ? onStream(this.#task, context.key, state().position) : undefined;
    const { key, signal } = context;
    // A call that was given up may still speak.
    const onDelta = (delta: ModelDelta): void => {
      context.heartbeat();
      if (!signal.aborted) stream?.onDelta(delta);
    };
    const promptTokens = this.#estimate();
    const answer = await model
      .answer(prompt, { key, signal, onDelta, promptTokens }, isStreamed)
      .finally(stream?.end)
      .catch((error: unknown) => {
        const { code } = (error ?? {}) as { readonly code?: unknown };
        if (typeof code === 'string' && NO_ANSWER_CODE.test(code))
          ports.telemetry.count('model_answers_unusable_total', 1, { code });
        // A call that was out of time has failed; one that is given up has not.
        if (!signal.aborted || signal.reason instanceof UnavailableError)
          countFailedCall(this.#dependencies, model, error);
        throw error;
      });
    const { usage } = answer;
    const toolCalls = answer.toolCalls.map((call) => ({ ...call, name: this.#realName(call.name) }));
    const latencyMs = Math.round(ports.clock.monotonicMs() - startedMs);
    const costMicros = model.costMicros(usage) ?? null;
    if (!signal.aborted) countAnswer(this.#dependencies, model, { usage, costMicros, latencyMs });
    const recorded = { ...answer, toolCalls, costMicros, latencyMs, ...(isStreamed && { isStreamed }) };
    return toJson(recorded, `answer of ${describe(model)}`);
  }

  /** A model may call a tool by the name that it saw in the history. */
  #realName(name: string): string {
    const isOffered = this.#request.tools?.some((tool) => tool.name === name) === true;
    return isOffered ? name : (this.#sent?.originals.get(name) ?? name);
  }
}

/** `openai.chat` and `openai.responses` are one provider. */
const scopesOf = ({ provider, modelId, limits }: Model): readonly CallScope[] =>
  callScopes([`provider ${provider.split('.')[0]}`, `model ${provider} ${modelId}`], limits);

/** A part of a message, or what a raw prompt has of one: a result that is content, a file of which only the digest is here. */
interface SpokenPart {
  readonly type?: Json;
  readonly mediaType?: Json;
  readonly output?: { readonly type?: Json; readonly value?: Json };
  readonly data?: string | { readonly type?: Json; readonly sizeBytes?: Json };
}

function withoutFiles(message: Json, onFile: (tokens: number) => void): Json {
  const rest = (parts: unknown): unknown => {
    if (!Array.isArray(parts)) return parts;
    return (parts as readonly SpokenPart[]).flatMap((part) => {
      const { type, mediaType, data, output } = part;
      if (output?.type === 'content') return [{ ...part, output: { ...output, value: rest(output.value) as Json } }];
      const isFile = (type === 'file' || type === 'reasoning-file') && typeof mediaType === 'string';
      // A file that is a text is in the prompt.
      if (!isFile || (typeof data === 'object' && data.type === 'text')) return [part];
      const size = typeof data === 'object' ? data.sizeBytes : base64Bytes(data);
      onFile(fileTokens(mediaType, typeof size === 'number' ? size : 0));
      return [];
    });
  };
  const { content } = message as { readonly content?: Json };
  return { ...(message as object), content: rest(content) } as Json;
}

const describe = ({ provider, modelId }: Model): string => `${provider} ${modelId}`;

/** What identifies a model's question, as `asked` gives it. */
interface Asked {
  readonly provider: string;
  readonly model: string;
  readonly bundle: string | null;
  readonly settings: Json;
}

const unsendable = (why: string): InvalidError =>
  new InvalidError('request-unsendable', `What is recorded can't be sent again: ${why}.`);

const inUndo = (definition: string): InvalidError =>
  new InvalidError(
    'model-in-undo',
    `${definition} compensates another workflow: it follows what is recorded, and can't call a model.`,
    { definition },
  );
