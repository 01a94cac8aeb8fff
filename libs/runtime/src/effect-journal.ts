/**
 * Owns a step's dealings with the outside: `run` and `effect`, journaled by key. An effect that leaves the process is
 * intended before and resolved after, each known to be in the log; a recorded outcome is never repeated (I4). What a dead
 * holder left open is decided by the recovery table alone: probe, same key, or a person.
 */

import { canonicalJson, NAME_MAX_CHARS, toJson } from '@tidemark/codec';
import {
  type EffectKey,
  type EffectState,
  effectKey,
  FencedError,
  InvalidError,
  type Json,
  type TaskId,
  type WorkflowId,
} from '@tidemark/core';
import type { StreamContent } from './content.ts';
import type { EffectContext, EffectDefinition, RunOptions } from './definition.ts';
import type { Draft } from './held-stream.ts';
import { CALL_WINDOW_MS, EVIDENCE_MAX_CHARS } from './limits.ts';
import type { Ports } from './ports.ts';
import { EffectError, errorNote, NotDoneError, ParkError } from './step-errors.ts';

/** How an effect's call is made; tests put another in its place. */
export type CallEffect = (effect: EffectDefinition, request: Json, context: EffectContext) => Promise<unknown>;

/** What the journal needs of the runner that the step runs in. */
export interface JournalHost {
  readonly ports: Pick<Ports, 'clock' | 'digest' | 'telemetry'>;
  readonly workflow: WorkflowId;
  readonly content: StreamContent;
  readonly callEffect: CallEffect;
  /** The task's journal as folded, own events included. */
  effectsOf(task: TaskId): readonly EffectState[];
  /** Checkpoint to reserve before the task's first effect; undefined when that is done. */
  reservation(task: TaskId): Draft | undefined;
  /** Durable and known to be accepted. */
  writeDurably(drafts: readonly Draft[]): Promise<void>;
  /** Goes out with the next flush, or within the staging delay. Rejects when nothing was written: it is too large. */
  writeStaged(drafts: readonly Draft[]): Promise<void>;
}

export class EffectJournal {
  readonly #host: JournalHost;
  readonly #task: TaskId;
  readonly #signal: AbortSignal;
  readonly #counts = new Map<string, number>();
  /** The last use of each key: the same key twice at once would call twice. */
  readonly #lastUse = new Map<EffectKey, Promise<unknown>>();
  /** Intentions whose call is not decided yet. */
  readonly #deciding = new Set<Promise<void>>();

  constructor(host: JournalHost, task: TaskId, signal: AbortSignal) {
    this.#host = host;
    this.#task = task;
    this.#signal = signal;
  }

  /** The key of the next use of the operation: counted, or by the given name. */
  #key(operation: string, name: string | undefined): EffectKey {
    const ordinal = this.#counts.get(operation) ?? 0;
    if (name === undefined) this.#counts.set(operation, ordinal + 1);
    const key = effectKey(this.#host.workflow, this.#task, operation, name ?? ordinal);
    if (key.length <= NAME_MAX_CHARS) return key;
    throw new InvalidError(
      'effect-key-too-long',
      `${operation}: its key has ${key.length} characters, at most ${NAME_MAX_CHARS} are allowed. Shorten the name of the call, or the workflow's id.`,
    );
  }

  /** Resolves once no intention stands whose call was neither made nor known not to be. The step has ended. */
  async close(): Promise<void> {
    if (this.#deciding.size > 0) await Promise.all(this.#deciding);
  }

  async run(name: string, body: (signal: AbortSignal) => unknown, options: RunOptions): Promise<Json> {
    this.#signal.throwIfAborted();
    const operation = `run.${name}`;
    const key = this.#key(operation, options.name);
    return this.#inTurn(key, async () => {
      const known = this.#recorded(key);
      if (known !== undefined) return known;
      const value = await body(this.#signal);
      this.#signal.throwIfAborted();
      const response = toJson(value ?? null, `result of ctx.run('${name}')`);
      await this.#host.writeStaged([this.#resolved(key, operation, 'pure', null, response)]);
      this.#host.content.journaled(key, { status: 'done', response });
      return response;
    });
  }

  async effect(effect: EffectDefinition, input: unknown, options: RunOptions): Promise<Json> {
    this.#signal.throwIfAborted();
    const request = effect.parseRequest(input);
    const key = this.#key(effect.operation, options.name);
    return this.#inTurn(key, () => this.#effect(effect, key, request));
  }

  /** A key that is used twice at once is one effect: the second use waits for the first, and finds what it recorded. */
  async #inTurn(key: EffectKey, use: () => Promise<Json>): Promise<Json> {
    const before = this.#lastUse.get(key);
    const using = before === undefined ? use() : before.then(use, use);
    this.#lastUse.set(key, using);
    try {
      return await using;
    } finally {
      if (this.#lastUse.get(key) === using) this.#lastUse.delete(key);
    }
  }

  async #effect(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    this.#sameRequest(key, request);
    const known = this.#recorded(key);
    if (known !== undefined) return effect.parseResponse(known);
    if (effect.kind === 'pure') return this.#pure(effect, key, request);
    const left = this.#host.effectsOf(this.#task).find((other) => other.key === key);
    if (left?.status === 'intended') {
      const recovered = await this.#recover(effect, key, request);
      if (recovered !== undefined) return recovered;
    }
    return this.#call(effect, key, request);
  }

  #recorded(key: EffectKey): Json | undefined {
    const entry = this.#host.content.journalOf(key);
    return entry?.status === 'done' ? entry.response : undefined;
  }

  /** The same key with another request is never answered from the journal. */
  #sameRequest(key: EffectKey, request: Json): void {
    const known = this.#host.effectsOf(this.#task).find((other) => other.key === key);
    if (known === undefined || known.requestDigest === this.#digest(request)) return;
    throw new ParkError(
      'request-changed',
      `Effect ${key} was recorded with another request. A step must ask the same of the same key; give the call a name if it means something else.`,
      key,
      { recordedDigest: known.requestDigest, request: excerpt(request) },
    );
  }

  async #pure(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    const response = await this.#attempt(effect, key, request);
    await this.#host.writeStaged([this.#resolved(key, effect.operation, 'pure', request, response)]);
    this.#host.content.journaled(key, { status: 'done', response });
    return response;
  }

  /** Intends, calls within the window of acceptance, resolves. */
  async #call(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    const { clock, telemetry } = this.#host.ports;
    for (;;) {
      // The log accepts the intention at some moment after this one, which is all that is known of it: a process that was
      // stopped while the answer was on its way must not call late.
      const sentMs = clock.monotonicMs();
      await this.#intend(effect, key, request);
      // Checked as the last thing before sending, with nothing awaited in between.
      if (clock.monotonicMs() - sentMs <= CALL_WINDOW_MS) break;
    }
    const span = telemetry.span(`effect ${effect.operation}`, { 'tidemark.effect.key': key });
    try {
      const response = await this.#attempt(effect, key, request);
      await this.#resolve(effect, key, request, response);
      return response;
    } catch (error) {
      span.fail(error);
      throw await this.#failed(effect, key, request, error);
    } finally {
      span.end();
    }
  }

  /** Resolves when the call may be made; rejects when it must not be made any more. */
  async #intend(effect: EffectDefinition, key: EffectKey, request: Json): Promise<void> {
    this.#signal.throwIfAborted();
    const decided = Promise.withResolvers<void>();
    this.#deciding.add(decided.promise);
    try {
      await this.#writeIntention(effect, key, request);
      if (!this.#signal.aborted) return;
      // It was not called, and the next holder should know: it would have to ask a probe, or a person.
      await this.#recordNotDone(effect, key, request, new NotDoneError('The worker had to go before the call.'));
      this.#signal.throwIfAborted();
    } finally {
      this.#deciding.delete(decided.promise);
      decided.resolve();
    }
  }

  async #writeIntention(effect: EffectDefinition, key: EffectKey, request: Json): Promise<void> {
    const reserve = this.#host.reservation(this.#task);
    const intend: Draft = {
      type: 'EffectIntended',
      control: {
        task: this.#task,
        key,
        operation: effect.operation,
        kind: effect.kind,
        requestDigest: this.#digest(request),
        timeoutMs: effect.timeoutMs,
      },
      payload: { request },
    };
    await this.#host.writeDurably(reserve === undefined ? [intend] : [reserve, intend]);
    this.#host.content.journaled(key, { status: 'intended', request });
  }

  async #attempt(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    return effect.parseResponse(
      await this.#inTime(effect, (signal) =>
        this.#host.callEffect(effect, request, { key, signal, heartbeat: () => {} }),
      ),
    );
  }

  /** What the outside answers within the effect's time-out: one that ignores its signal must not hold the step beyond it. */
  async #inTime<T>(effect: EffectDefinition, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#signal.throwIfAborted();
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(effect.timeoutMs)]);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([ask(signal), aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Records what is certain; an unknown outcome stays intended, for the next attempt to decide by the table. */
  async #failed(effect: EffectDefinition, key: EffectKey, request: Json, error: unknown): Promise<unknown> {
    if (this.#signal.aborted || error instanceof FencedError) return error;
    if (error instanceof NotDoneError) await this.#recordNotDone(effect, key, request, error);
    return new EffectError(effect.operation, effect.retry, error);
  }

  async #recordNotDone(effect: EffectDefinition, key: EffectKey, request: Json, error: NotDoneError): Promise<void> {
    const note = errorNote(error);
    await this.#host.writeDurably([
      {
        type: 'EffectResolved',
        control: {
          ...this.#control(key, effect.operation, effect.kind, request),
          outcome: 'failed',
          responseDigest: this.#digest(note as unknown as Json),
        },
        payload: { error: note },
      },
    ]);
    this.#host.content.journaled(key, { status: 'failed', error: note });
  }

  /** The recovery table's row `intended`. Returns the response when it was done after all; undefined: call again. */
  async #recover(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json | undefined> {
    const { clock, telemetry } = this.#host.ports;
    telemetry.count('recovery_attempts_total', 1, { action: 'replay' });
    let answer = await this.#probe(effect, key);
    if (answer?.status === 'not-done') {
      // The former holder's call may still be under way: it counts only once its window and time-out have passed.
      await clock.sleep(CALL_WINDOW_MS + effect.timeoutMs, this.#signal);
      this.#signal.throwIfAborted();
      answer = await this.#probe(effect, key);
      if (answer?.status === 'not-done') return undefined;
    }
    if (answer?.status === 'done') {
      const response = effect.parseResponse(answer.response);
      await this.#resolve(effect, key, request, response);
      return response;
    }
    if (effect.kind === 'idempotent') return undefined;
    throw new ParkError(
      'effect-unknown',
      `Effect ${key} was intended, and whether it happened is unknown. It can't be repeated harmlessly, so a person must decide.`,
      key,
      { operation: effect.operation, request: excerpt(request), probe: answer?.status ?? 'none' },
    );
  }

  async #probe(
    effect: EffectDefinition,
    key: EffectKey,
  ): Promise<Awaited<ReturnType<NonNullable<EffectDefinition['probe']>>> | undefined> {
    const { probe } = effect;
    if (probe === undefined) return undefined;
    try {
      return await this.#inTime(effect, (signal) => probe(key, { signal }));
    } catch (error) {
      throw new EffectError(`${effect.operation} (probe)`, effect.retry, error);
    }
  }

  #digest(value: Json): string {
    return this.#host.ports.digest.sha256(canonicalJson(value));
  }

  #control(key: EffectKey, operation: string, kind: EffectDefinition['kind'], request: Json) {
    return { task: this.#task, key, operation, kind, requestDigest: this.#digest(request) } as const;
  }

  /** Recorded here only once the log has it: what could not be written was not resolved. */
  async #resolve(effect: EffectDefinition, key: EffectKey, request: Json, response: Json): Promise<void> {
    await this.#host.writeDurably([this.#resolved(key, effect.operation, effect.kind, request, response)]);
    this.#host.content.journaled(key, { status: 'done', response });
  }

  #resolved(key: EffectKey, operation: string, kind: EffectDefinition['kind'], request: Json, response: Json): Draft {
    return {
      type: 'EffectResolved',
      control: {
        ...this.#control(key, operation, kind, request),
        outcome: 'done',
        responseDigest: this.#digest(response),
      },
      payload: { response },
    };
  }
}

/** What a person is shown of a request: all of it, or the beginning of its text, since evidence must fit in one event. */
function excerpt(request: Json): Json {
  const text = JSON.stringify(request);
  return text.length <= EVIDENCE_MAX_CHARS ? request : `${text.slice(0, EVIDENCE_MAX_CHARS)}…`;
}
