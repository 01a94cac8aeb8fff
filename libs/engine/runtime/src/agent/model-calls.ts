/**
 * Owns model calls as effects. The prompt is built just before the call; the intention records its origin, reservation and texts, the
 * resolution the answer and its cost. A call is never pure: an answered call is never paid twice (I4), and a retry sends what was recorded.
 * It knows no provider.
 */

import { type BundleOrigin, canonicalJson, toJson } from '@tidemark/codec';
import {
  type EffectKey,
  type FilePart,
  FRAGMENT_TYPES,
  type Fragment,
  fileTokens,
  InvalidError,
  isReplay,
  type Json,
  NO_SPEND,
  partsOwner,
  type Sha256,
  type TaskId,
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
} from '../definition/index.ts';
import { callScopes } from '../definition/index.ts';
import { isIntended, refuseRepeats } from '../effects/index.ts';
import { SHARED_TEXT_MIN_CHARS } from '../history/index.ts';
import { digestOf, storableText } from '../kernel/index.ts';
import { bundleOf, earlierRun, type Origin, type PhasedBundle, textsOf } from './bundle-origin.ts';
import { parseAnswer, spentFor } from './model-answer.ts';
import { type ModelDependencies, ModelReservation } from './model-reservation.ts';
import { PromptChain } from './prompt-chain.ts';
import { SessionContext } from './session-context.ts';

/** Operation of every model call: `--call N` counts these within a step. */
export const MODEL_OPERATION = 'model';

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
  /** The bundle that `prepare` assembled, for the `call` that follows. */
  #bundle: PhasedBundle | undefined;

  constructor(
    dependencies: ModelDependencies,
    session: SessionContext,
    chain: PromptChain,
    task: TaskId,
    request: ModelRequest,
    signal: AbortSignal,
  ) {
    this.#reservation = new ModelReservation(dependencies, task, request, signal);
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

  effect(): EffectDefinition {
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
        this.#prepare(key, recorded, isAnswered),
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
  async #prepare(key: EffectKey, recorded: BundleOrigin | undefined, isAnswered: boolean): Promise<PreparedCall> {
    const texts = new Map<Sha256, string>();
    const { origin, bundle } = await this.#originFor(recorded, texts);
    this.#bundle = bundle;
    this.#requireContent();
    const { prompt, texts: said, stored } = this.#chain.add(this.#messages());
    for (const [digest, text] of said) texts.set(digest, text);
    this.#addText(texts, canonicalJson(this.#tools()));
    await this.#dependencies.context.learn(this.#dependencies.ports.store, this.#dependencies.state().workflow, [
      ...texts.keys(),
    ]);
    const fresh = [...texts].filter(([digest]) => !this.#dependencies.context.has(digest));
    const reserved = isAnswered ? NO_SPEND : this.#reservation.reserve(this.#estimate());
    const question = this.#question();
    if (!isAnswered) {
      await this.#reservation.check(key);
      this.#checkRepeats(question, key);
    }
    return {
      control: { model: { bundle: this.#bundle?.hash ?? null, reserved }, question, hasContext: true },
      payload: {
        ...(origin !== undefined && { bundle: { ...origin, messages: this.#digest(this.#bundleMessages()) } }),
        ...(prompt !== null && { prompt }),
        ...(fresh.length > 0 && { texts: Object.fromEntries(fresh) }),
      },
      confirm: () => {
        for (const [digest, text] of fresh) this.#dependencies.context.keepNamed(digest, text);
        stored();
        return isAnswered ? Promise.resolve() : this.#confirm(key, question);
      },
    };
  }

  /** Tokens that the call sends. */
  #estimate(): number {
    const spoken = this.#messages().reduce((sum: number, message) => sum + this.#spoken(message), 0);
    const tools = this.#request.tools === undefined ? 0 : this.#count(this.#tools());
    return (this.#bundle?.bundle.token_estimate ?? 0) + spoken + tools;
  }

  /** A file counts as one, not as its base64. */
  #spoken(message: Json): number {
    const { content } = message as { readonly content?: Json };
    if (!Array.isArray(content) || this.#request.rawPrompt !== undefined) return this.#count(message);
    const files = (content as readonly Json[]).filter((part): part is FilePart & Json => typeIn(part) === 'file');
    const rest = { ...(message as object), content: content.filter((part) => !files.includes(part as never)) };
    return files.reduce((sum, file) => sum + fileTokens(file), this.#count(rest as Json));
  }

  #bundleMessages(): Json {
    return (this.#bundle?.messages ?? []) as unknown as Json;
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
   * Sends what was recorded again. If that can't be rebuilt (another tokenizer, other rules), it builds the prompt from the current state.
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
      provider: partsOwner(model.provider),
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
      messages: [...(this.#bundle?.messages ?? []), ...(this.#request.messages ?? [])],
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
    const answer = await model.answer(prompt, { key, signal, onDelta }, isStreamed).finally(stream?.end);
    const { usage } = answer;
    const latencyMs = Math.round(ports.clock.monotonicMs() - startedMs);
    const costMicros = model.costMicros(usage) ?? 0;
    const recorded = { ...answer, costMicros, latencyMs, ...(isStreamed && { isStreamed }) };
    return toJson(recorded, `answer of ${describe(model)}`);
  }
}

/** `openai.chat` and `openai.responses` are one provider. */
const scopesOf = ({ provider, modelId, limits }: Model): readonly CallScope[] =>
  callScopes([`provider ${provider.split('.')[0]}`, `model ${provider} ${modelId}`], limits);

const typeIn = (part: Json): unknown => (part as { readonly type?: Json } | null)?.type;

const describe = ({ provider, modelId }: Model): string => `${provider} ${modelId}`;

const inUndo = (definition: string): InvalidError =>
  new InvalidError(
    'model-in-undo',
    `${definition} compensates another workflow: it follows what is recorded, and can't call a model.`,
    { definition },
  );
