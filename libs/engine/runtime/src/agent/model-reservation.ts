/**
 * Owns a model call's reservation in budgets: computed before the call, checked before and after it is in the log, and settled when the
 * call has failed. It writes nothing.
 */

import {
  BUDGET_EXCEEDED,
  type EffectKey,
  type Json,
  NO_SPEND,
  type Spend,
  type StreamState,
  type TaskId,
  unknownSpend,
} from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import type { CallStream, Definition } from '../definition/index.ts';
import { ContendedError, type ModelRequest, NotDoneError, ParkError, type Usage } from '../definition/index.ts';
import type { WorkflowContext } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import { spentFor } from './model-answer.ts';
import { checkOwnBudgets, checkShared, sharedSpends } from './model-budgets.ts';

/**
 * Longest wait, in milliseconds, for other calls to settle while only their reservations leave too little of a budget; and shortest pause
 * between two checks (up to five times as long, at random).
 */
const BUDGET_WAIT_MAX_MS = 120_000;
const BUDGET_POLL_MS = 50;

export interface ModelDependencies {
  readonly ports: Pick<Ports, 'clock' | 'prng' | 'digest' | 'telemetry' | 'memory'> & {
    readonly store: Pick<
      ProjectionStore,
      'fragments' | 'texts' | 'trace' | 'scopes' | 'session' | 'memories' | 'spent'
    >;
  };
  readonly definition: Definition;
  readonly context: WorkflowContext;
  readonly input: () => Json;
  /** The stream with own events that are not yet confirmed. */
  readonly state: () => StreamState;
  /** Resolves once rows have everything that this holder has written. */
  readonly applied: () => Promise<void>;
  /** Begins an attempt at a streamed call, for those who watch. */
  readonly onStream: (task: TaskId, call: EffectKey, attempt: number) => CallStream;
  /** `traceparent` of the lease's span, for exemplars. */
  readonly trace?: () => string | undefined;
}

export class ModelReservation {
  readonly #dependencies: ModelDependencies;
  readonly #task: TaskId;
  readonly #request: ModelRequest;
  readonly #signal: AbortSignal;
  #reserved: Spend = NO_SPEND;
  #isUnpriced = false;
  /** Whether the tenant or user has a budget. One that is set later counts for the next call. */
  #isShared = false;

  constructor(dependencies: ModelDependencies, task: TaskId, request: ModelRequest, signal: AbortSignal) {
    this.#dependencies = dependencies;
    this.#task = task;
    this.#request = request;
    this.#signal = signal;
  }

  /** The most that the call may cost, as far as it is known before the call. */
  reserve(inputTokens: number): Spend {
    const { model, settings } = this.#request;
    const outputTokens = maxOutput(settings) ?? model.maxOutputTokens;
    const usage: Usage = { inputTokens, outputTokens, cachedInputTokens: 0, reasoningTokens: 0 };
    const costMicros = model.costMicros(usage);
    this.#isUnpriced = costMicros === undefined;
    this.#reserved = { tokens: inputTokens + outputTokens, costMicros: costMicros ?? 0 };
    return this.#reserved;
  }

  /** Waits while only others' reservations are in the way. Throws `ParkError` (`budget_exceeded`, `model-unpriced`). */
  check(key: EffectKey): Promise<void> {
    const { ports, state } = this.#dependencies;
    const { tenant, user } = state();
    return this.#whileContended(async () => {
      const spends = await sharedSpends(ports, tenant, user);
      this.#isShared = spends.length > 0;
      this.#checkOwn(key);
      checkShared(spends, this.#call(key), false);
    });
  }

  /**
   * Checks again once the reservation is in the log, and for shared budgets also in rows, so no other reservation can be missed. May also
   * throw `ContendedError`: the caller then gives the reservation back and retries.
   */
  async confirm(key: EffectKey): Promise<void> {
    const { ports, state, applied } = this.#dependencies;
    this.#checkOwn(key);
    if (!this.#isShared) return;
    await applied();
    const { tenant, user } = state();
    checkShared(await sharedSpends(ports, tenant, user), this.#call(key), true);
  }

  /** What a failed call cost: nothing if it certainly was not answered, or what the provider reported; else it is unknown, up to all that was reserved. */
  lost(error: unknown): Spend {
    if (error instanceof NotDoneError) return NO_SPEND;
    const usage = usageIn(error);
    if (usage === undefined) return unknownSpend(this.#reserved);
    return spentFor({ usage, costMicros: this.#request.model.costMicros(usage) ?? null });
  }

  #call(key: EffectKey) {
    return { key, task: this.#task, reserved: this.#reserved, isUnpriced: this.#isUnpriced };
  }

  #checkOwn(key: EffectKey): void {
    const { context } = this.#dependencies.definition;
    if (context !== undefined) checkOwnBudgets(this.#dependencies.state(), context, this.#call(key));
  }

  /** Other calls take seconds, and mostly cost less than they reserved. The waiting call holds no reservation. */
  async #whileContended(check: () => Promise<void>): Promise<void> {
    const { clock, prng } = this.#dependencies.ports;
    const endMs = clock.monotonicMs() + BUDGET_WAIT_MAX_MS;
    for (;;) {
      try {
        return await check();
      } catch (error) {
        if (!(error instanceof ContendedError)) throw error;
        this.#signal.throwIfAborted();
        if (clock.monotonicMs() >= endMs)
          throw new ParkError(
            BUDGET_EXCEEDED,
            `${error.message} The call waited for them.`,
            null,
            error.details.exceeded as Json,
          );
        await clock.sleep(BUDGET_POLL_MS * (1 + prng.bytes(1)[0]! / 64), this.#signal);
      }
    }
  }
}

function maxOutput(settings: Json | undefined): number | undefined {
  if (typeof settings !== 'object' || settings === null || !('maxOutputTokens' in settings)) return undefined;
  const { maxOutputTokens } = settings;
  return typeof maxOutputTokens === 'number' && maxOutputTokens > 0 ? maxOutputTokens : undefined;
}

/** The usage that a provider reported for an interrupted call. */
function usageIn(error: unknown): Usage | undefined {
  const received = error instanceof Error && 'received' in error ? error.received : undefined;
  const usage = typeof received === 'object' && received !== null && 'usage' in received ? received.usage : undefined;
  const { inputTokens, outputTokens } = (usage ?? {}) as Partial<Usage>;
  return typeof inputTokens === 'number' && typeof outputTokens === 'number' ? (usage as Usage) : undefined;
}
