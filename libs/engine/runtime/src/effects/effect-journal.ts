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
  LimitError,
  type ProbeAnswer,
  type TaskId,
} from '@tidemark/core';
import {
  ContendedError,
  type EffectDefinition,
  EffectError,
  errorNote,
  NotDoneError,
  PendingResult,
  type PreparedCall,
  type RunOptions,
  SuspendedError,
} from '../definition/index.ts';
import type { AttemptEnds } from './attempts.ts';
import { answerInTime } from './effect-call.ts';
import { type EffectCall, intendedDraft, notDoneDraft, resolvedDraft } from './effect-drafts.ts';
import { checkedToken, firstWait, overdue, pendingDraft, type Wait } from './effect-pending.ts';
import { arrived, fitting, type Recovered, recoverEffect, refuseOther } from './effect-recovery.ts';
import type { EffectRun, EffectRunParts } from './effect-run.ts';
import { EffectUses } from './effect-uses.ts';
import { CALL_WINDOW_MS } from './limits.ts';
import { answerTooLarge, responseTooLarge } from './outcome-too-large.ts';
import { replayedEffect } from './replayed-effect.ts';

export class EffectJournal {
  readonly #run: EffectRun;
  readonly #parts: EffectRunParts;
  readonly #task: TaskId;
  readonly #ends: Pick<AttemptEnds, 'over'>;
  /** Made when first used: most steps call nothing. */
  #made: EffectUses | undefined;

  constructor(run: EffectRun, task: TaskId, ends: Pick<AttemptEnds, 'over'>) {
    this.#run = run;
    this.#parts = run.parts;
    this.#task = task;
    this.#ends = ends;
  }

  get #signal(): AbortSignal {
    return this.#ends.over;
  }

  get #uses(): EffectUses {
    this.#made ??= new EffectUses();
    return this.#made;
  }

  /** The key of the next use of the operation: counted, or by the given name. */
  #key(operation: string, name: string | undefined): EffectKey {
    const key = effectKey(
      this.#parts.stream.confirmed.workflow,
      this.#task,
      operation,
      name ?? this.#uses.ordinal(operation),
    );
    if (key.length <= NAME_MAX_CHARS) return key;
    throw new InvalidError(
      'effect-key-too-long',
      `${operation}: its key has ${key.length} characters, at most ${NAME_MAX_CHARS} are allowed. Shorten the name of the call, or the workflow's id.`,
    );
  }

  /**
   * The step has ended: resolves once no intention stands whose call was neither made nor known not to be, and no call is
   * under way of which the step didn't wait for the outcome. Undefined: it called nothing.
   */
  close(): Promise<void> | undefined {
    return this.#made?.settled();
  }

  async run(name: string, body: (signal: AbortSignal) => unknown, options: RunOptions): Promise<Json> {
    this.#signal.throwIfAborted();
    const operation = `run.${name}`;
    const key = this.#key(operation, options.name);
    return this.#uses.inTurn(key, async () => {
      const known = this.#recorded(key);
      if (known !== undefined) return known;
      const replayed = await this.#parts.replay?.closure(this.#task, key);
      const startedAtMs = this.#parts.ports.clock.nowMs();
      const value = replayed === undefined ? await body(this.#signal) : replayed.response;
      this.#signal.throwIfAborted();
      const response = toJson(value ?? null, `result of ctx.run('${name}')`);
      const call = { task: this.#task, key, operation, kind: 'pure', request: null } as const;
      await this.#parts.flushing.writeStaged([
        resolvedDraft(this.#parts.ports.digest, call, response, undefined, startedAtMs),
      ]);
      this.#parts.content.journaled(key, { status: 'done', response });
      return response;
    });
  }

  async effect(effect: EffectDefinition, input: unknown, options: RunOptions): Promise<Json> {
    this.#signal.throwIfAborted();
    const request = effect.parseRequest(input);
    const key = this.#key(effect.operation, options.name);
    return this.#parts.gate.pass(this.#signal, () => this.#uses.inTurn(key, () => this.#effect(effect, key, request)));
  }

  async #effect(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    refuseOther(this.#stateOf(key), key, request, this.#parts.ports.digest);
    const { replay } = this.#parts;
    const place = { task: this.#task, signal: this.#signal };
    if (replay !== undefined) return replayedEffect(this.#run, replay, place, effect, key, request);
    let isClear = true;
    for (;;) {
      const left = this.#stateOf(key);
      const isSettled = this.#recorded(key) !== undefined && !this.#run.unvalidated.has(key);
      if (isSettled || left === undefined) break;
      if (left.status === 'failed') {
        this.#reportFailure(effect, left);
        break;
      }
      const recovered = await this.#recover(effect, key, request, left);
      if (recovered === undefined) continue;
      if ('response' in recovered) return recovered.response;
      isClear = recovered.isClear;
      break;
    }
    const known = this.#recorded(key);
    if (known !== undefined) return fitting(effect, key, known);
    if (effect.kind === 'pure') return this.#pure(effect, key, request);
    return this.#call(effect, key, request, isClear);
  }

  /**
   * Decides what was begun before. Without a response: go on by what is known; `isClear`: nothing of it was
   * done. Undefined: it was decided otherwise while the outside was asked, by a confirmation or a timer, and counts so.
   */
  async #recover(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    left: EffectState,
  ): Promise<{ readonly response: Json } | { readonly isClear: boolean } | undefined> {
    let recovered: Recovered;
    try {
      recovered = await recoverEffect(this.#run, this.#signal, { effect, key, request, left });
      this.#signal.throwIfAborted();
    } catch (error) {
      if (this.#hasChanged(left)) return undefined;
      throw error;
    }
    if (this.#hasChanged(left)) return undefined;
    this.#run.unvalidated.delete(key);
    switch (recovered.kind) {
      case 'done':
        await this.#resolve(effect, key, request, recovered.response);
        return recovered;
      case 'wait':
        return this.#waitOn(effect, key, request, left, recovered.answer);
      case 'valid':
        return { isClear: true };
      case 'call':
        return recovered;
    }
  }

  /** Waits further for a confirmation; overdue, a person is asked. */
  #waitOn(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    left: EffectState,
    answer: ProbeAnswer,
  ): Promise<never> {
    const { token = '', deadline = null } = left.pending ?? {};
    if (deadline === null) throw overdue(effect, key, request, token, answer);
    return this.#suspend(effect, key, { token, deadline, detail: null });
  }

  async #suspend(effect: EffectDefinition, key: EffectKey, wait: Wait): Promise<never> {
    // First, since its confirmation may stand right behind it, and be folded in the same turn.
    this.#parts.content.awaits(key, wait.token);
    await this.#parts.flushing.write([pendingDraft(this.#run, this.#task, effect, key, wait)]);
    throw new SuspendedError(key);
  }

  /** A call that its receiver confirmed as not done is a failed attempt. The step gets its error once; then it may call again. */
  #reportFailure(effect: EffectDefinition, { key, isUntold }: EffectState): void {
    if (!isUntold) return;
    const entry = this.#parts.content.journalOf(key);
    const why = entry?.status === 'failed' ? entry.error.message : 'it was not done';
    throw new EffectError(effect.operation, effect.retry, new NotDoneError(why, { confirmed: true }));
  }

  #stateOf(key: EffectKey): EffectState | undefined {
    return this.#run.effectsOf(this.#task).find((other) => other.key === key);
  }

  /** What others have written meanwhile goes before what was found out on the state of then. */
  #hasChanged(left: EffectState): boolean {
    return canonicalJson(this.#stateOf(left.key) as unknown as Json) !== canonicalJson(left as unknown as Json);
  }

  #recorded(key: EffectKey): Json | undefined {
    const entry = this.#parts.content.journalOf(key);
    return entry?.status === 'done' ? entry.response : undefined;
  }

  async #pure(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    const startedAtMs = this.#parts.ports.clock.nowMs();
    const response = await this.#attempt(effect, key, request);
    if (response instanceof PendingResult) {
      throw new InvalidError(
        'pending-pure',
        `${effect.operation} is pure, so there is nothing outside to be confirmed. Define it as idempotent or irreversible.`,
      );
    }
    const call = this.#asked(effect, key, request);
    await this.#parts.flushing.writeStaged([
      resolvedDraft(this.#parts.ports.digest, call, response, undefined, startedAtMs),
    ]);
    this.#parts.content.journaled(key, { status: 'done', response });
    return response;
  }

  /** Intends, calls within the window of acceptance, resolves. `isClear`: no earlier call of the key can have been made. */
  async #call(effect: EffectDefinition, key: EffectKey, request: Json, isClear: boolean): Promise<Json> {
    const { clock } = this.#parts.ports;
    for (;;) {
      const prepared = await this.#prepare(effect, key);
      // The log accepts the intention after this moment: a process that was stopped meanwhile must not call late.
      const sentMs = clock.monotonicMs();
      const mayCall = await this.#intend(effect, key, request, prepared);
      // Checked as the last thing before sending.
      if (mayCall && clock.monotonicMs() - sentMs <= CALL_WINDOW_MS) break;
    }
    const answer = await this.#answered(effect, key, request, isClear);
    await this.#resolve(effect, key, request, answer);
    return answer;
  }

  async #answered(effect: EffectDefinition, key: EffectKey, request: Json, isClear: boolean): Promise<Json> {
    try {
      const answer = await this.#run.withinCall(key, () => this.#attempt(effect, key, request));
      if (!(answer instanceof PendingResult)) return answer;
      return await this.#suspend(effect, key, firstWait(this.#run, effect, answer));
    } catch (error) {
      if (error instanceof SuspendedError) throw error;
      throw await this.#failed(effect, key, request, isClear, error);
    }
  }

  /** Whether the call may be made now; false: it is to be intended again. Rejects when it must not be made any more. */
  async #intend(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    prepared: PreparedCall | undefined,
  ): Promise<boolean> {
    this.#signal.throwIfAborted();
    const decided = this.#uses.intending();
    try {
      await this.#writeIntention(effect, key, request, prepared);
      const refused = await this.#confirm(prepared);
      if (refused !== undefined) {
        await this.#recordNotDone(effect, key, request, new NotDoneError(errorNote(refused).message));
        if (!(refused instanceof ContendedError)) throw refused;
        return false;
      }
      if (!this.#signal.aborted) return true;
      // It was not called, and the next holder should know.
      await this.#recordNotDone(effect, key, request, new NotDoneError('The worker stopped before the call.'));
      throw this.#signal.reason;
    } finally {
      decided();
    }
  }

  /** Why the call must not be made after all, if it must not. */
  async #confirm(prepared: PreparedCall | undefined): Promise<unknown> {
    if (this.#signal.aborted) return undefined;
    return prepared?.confirm?.().then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** What it was sent before it is sent again, with the same origin. */
  async #prepare(effect: EffectDefinition, key: EffectKey): Promise<PreparedCall | undefined> {
    if (effect.prepare === undefined) return undefined;
    const entry = this.#parts.content.journalOf(key);
    const prepared = await effect.prepare(key, entry?.status === 'intended' ? entry.bundle : undefined);
    this.#signal.throwIfAborted();
    return prepared;
  }

  async #writeIntention(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    prepared: PreparedCall | undefined,
  ): Promise<void> {
    const { digest } = this.#parts.ports;
    const intend = intendedDraft(digest, this.#asked(effect, key, request), effect.timeoutMs, prepared);
    await this.#parts.flushing.write(this.#run.reserving(this.#task, intend));
    this.#run.wasIntended(key);
    const bundle = prepared?.payload.bundle;
    this.#parts.content.journaled(key, { status: 'intended', request, ...(bundle && { bundle }) });
  }

  async #attempt(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json | PendingResult> {
    const { timeoutMs, heartbeatTimeoutMs, operation } = effect;
    const limits = { what: `The call of ${operation}`, timeoutMs, heartbeatTimeoutMs };
    const answer = await answerInTime(this.#parts.ports.clock, this.#signal, limits, ({ signal, heartbeat }) =>
      this.#parts.callEffect(effect, effect.asked ?? request, {
        key,
        signal,
        heartbeat: (progress) => {
          heartbeat();
          if (progress !== undefined) this.#parts.onProgress(progress);
        },
      }),
    );
    return answer instanceof PendingResult ? checkedToken(operation, answer) : arrived(effect, answer);
  }

  /** Records what is certain; an unknown outcome stays intended, for the next attempt to decide by the table. */
  async #failed(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    isClear: boolean,
    thrown: unknown,
  ): Promise<unknown> {
    if (this.#signal.aborted || thrown instanceof FencedError) return thrown;
    const error = this.#run.hideSecrets(effect.operation, thrown);
    // A model that failed has changed nothing: the step may do without it.
    const isCertain = (error instanceof NotDoneError && isClear) || effect.lostOf !== undefined;
    if (isCertain) await this.#recordNotDone(effect, key, request, error);
    return new EffectError(effect.operation, effect.retry, error);
  }

  async #recordNotDone(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    error: unknown,
    spent = effect.lostOf?.(error),
  ): Promise<void> {
    const [note, call] = [errorNote(error), this.#asked(effect, key, request)];
    await this.#parts.flushing.write([notDoneDraft(this.#parts.ports.digest, call, note, spent)]);
    this.#parts.content.journaled(key, { status: 'failed', error: note });
  }

  #asked({ operation, kind }: EffectDefinition, key: EffectKey, request: Json): EffectCall {
    return { task: this.#task, key, operation, kind, request };
  }

  /** Recorded here only once the log has it: what could not be written was not resolved. */
  async #resolve(effect: EffectDefinition, key: EffectKey, request: Json, response: Json): Promise<void> {
    const call = this.#asked(effect, key, request);
    try {
      await this.#parts.flushing.write([resolvedDraft(this.#parts.ports.digest, call, response, effect.spentOf)]);
    } catch (error) {
      if (error instanceof LimitError) throw await this.#tooLarge(effect, key, request, response, error);
      if (this.#signal.aborted || error instanceof FencedError) throw error;
      throw new EffectError(effect.operation, effect.retry, error);
    }
    this.#parts.content.journaled(key, { status: 'done', response }, effect.spentOf !== undefined);
  }

  /** It was done, and the log can't take what it answered: a model's cost is recorded, and a person is asked about any other. */
  async #tooLarge(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    response: Json,
    cause: LimitError,
  ): Promise<Error> {
    const { operation, retry, spentOf } = effect;
    if (spentOf === undefined) return responseTooLarge(effect, key, response, cause);
    const error = answerTooLarge(effect, cause);
    await this.#recordNotDone(effect, key, request, error, spentOf(response));
    return new EffectError(operation, retry, error);
  }
}
