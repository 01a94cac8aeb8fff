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
import { CALL_WINDOW_MS } from './limits.ts';
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
  /** Goes out with the next flush, or within the staging delay. */
  writeStaged(drafts: readonly Draft[]): void;
}

export class EffectJournal {
  readonly #host: JournalHost;
  readonly #task: TaskId;
  readonly #signal: AbortSignal;
  readonly #counts = new Map<string, number>();

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

  async run(name: string, body: (signal: AbortSignal) => unknown, options: RunOptions): Promise<Json> {
    const operation = `run.${name}`;
    const key = this.#key(operation, options.name);
    const known = this.#recorded(key);
    if (known !== undefined) return known;
    const value = await body(this.#signal);
    this.#signal.throwIfAborted();
    const response = toJson(value ?? null, `result of ctx.run('${name}')`);
    this.#host.writeStaged([this.#resolved(key, operation, 'pure', null, response)]);
    return response;
  }

  async effect(effect: EffectDefinition, input: unknown, options: RunOptions): Promise<Json> {
    const request = effect.parseRequest(input);
    const key = this.#key(effect.operation, options.name);
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
      { recordedDigest: known.requestDigest, request },
    );
  }

  async #pure(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    const response = await this.#attempt(effect, key, request);
    this.#host.writeStaged([this.#resolved(key, effect.operation, 'pure', request, response)]);
    return response;
  }

  /** Intends, calls within the window of acceptance, resolves. */
  async #call(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    const { clock, telemetry } = this.#host.ports;
    for (;;) {
      await this.#intend(effect, key, request);
      const acceptedMs = clock.monotonicMs();
      this.#signal.throwIfAborted();
      // Checked as the last thing before sending: a process that was stopped here must not send late.
      if (clock.monotonicMs() - acceptedMs <= CALL_WINDOW_MS) break;
    }
    const span = telemetry.span(`effect ${effect.operation}`, { 'tidemark.effect.key': key });
    try {
      const response = await this.#attempt(effect, key, request);
      await this.#host.writeDurably([this.#resolved(key, effect.operation, effect.kind, request, response)]);
      return response;
    } catch (error) {
      span.fail(error);
      throw await this.#failed(effect, key, request, error);
    } finally {
      span.end();
    }
  }

  async #intend(effect: EffectDefinition, key: EffectKey, request: Json): Promise<void> {
    const reserve = this.#host.reservation(this.#task);
    const intend: Draft = {
      type: 'EffectIntended',
      control: {
        task: this.#task,
        key,
        operation: effect.operation,
        kind: effect.kind,
        requestDigest: this.#digest(request),
      },
      payload: { request },
    };
    await this.#host.writeDurably(reserve === undefined ? [intend] : [reserve, intend]);
    this.#host.content.journaled(key, { status: 'intended', request });
  }

  async #attempt(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    const timeout = AbortSignal.timeout(effect.timeoutMs);
    const signal = AbortSignal.any([this.#signal, timeout]);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      // A call that ignores its signal must not hold the step beyond its time.
      return effect.parseResponse(
        await Promise.race([this.#host.callEffect(effect, request, { key, signal }), aborted]),
      );
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Records what is certain; an unknown outcome stays intended, for the next attempt to decide by the table. */
  async #failed(effect: EffectDefinition, key: EffectKey, request: Json, error: unknown): Promise<unknown> {
    if (this.#signal.aborted || error instanceof FencedError) return error;
    if (error instanceof NotDoneError) {
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
    return new EffectError(effect.operation, effect.retry, error);
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
      await this.#host.writeDurably([this.#resolved(key, effect.operation, effect.kind, request, response)]);
      return response;
    }
    if (effect.kind === 'idempotent') return undefined;
    throw new ParkError(
      'effect-unknown',
      `Effect ${key} was intended, and whether it happened is unknown. It can't be repeated harmlessly, so a person must decide.`,
      key,
      { operation: effect.operation, request, probe: answer?.status ?? 'none' },
    );
  }

  async #probe(
    effect: EffectDefinition,
    key: EffectKey,
  ): Promise<Awaited<ReturnType<NonNullable<EffectDefinition['probe']>>> | undefined> {
    if (effect.probe === undefined) return undefined;
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(effect.timeoutMs)]);
    try {
      return await effect.probe(key, { signal });
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

  #resolved(key: EffectKey, operation: string, kind: EffectDefinition['kind'], request: Json, response: Json): Draft {
    this.#host.content.journaled(key, { status: 'done', response });
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
