/**
 * Owns the calls of one attempt to the outside: `run` and `effect`, journaled by key. An effect that leaves the process is intended before
 * its call and resolved after it, and the log has accepted each event before the next action; a recorded outcome is never repeated (I4).
 * The recovery table alone decides about a call that a dead holder left open: probe it, call it again with the same key, or let a person
 * decide.
 */

import { canonicalJson, toJson } from '@tidemark/codec';
import {
  type EffectKey,
  type EffectState,
  effectKey,
  FencedError,
  InvalidError,
  type Json,
  LimitError,
  type ProbeAnswer,
  type Sha256,
  type TaskId,
} from '@tidemark/core';
import {
  ContendedError,
  type EffectDefinition,
  EffectError,
  errorNote,
  NotDoneError,
  type ParkError,
  PendingResult,
  type PreparedCall,
  type RunOptions,
  SuspendedError,
} from '../definition/index.ts';
import { digestOf } from '../kernel/index.ts';
import type { AttemptEnds } from './attempts.ts';
import { enterBody, markedFrom, pathOf } from './call-path.ts';
import { answerInTime } from './effect-call.ts';
import { type EffectCall, intendedDraft, notDoneDraft, resolvedDraft } from './effect-drafts.ts';
import { checkedToken, firstWait, overdue, pendingDraft, type Wait } from './effect-pending.ts';
import { arrived, fitting, type Recovered, recoverEffect, refuseOther, unordered } from './effect-recovery.ts';
import type { EffectRun, EffectRunParts } from './effect-run.ts';
import { EffectUses, type Use } from './effect-uses.ts';
import { CALL_WINDOW_MS } from './limits.ts';
import { answerTooLarge, responseTooLarge } from './outcome-too-large.ts';
import { replayedEffect } from './replayed-effect.ts';

export class EffectJournal {
  readonly #run: EffectRun;
  readonly #parts: EffectRunParts;
  readonly #task: TaskId;
  readonly #ends: Pick<AttemptEnds, 'over'>;
  /** Created on first use, since most steps call nothing. */
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
    this.#made ??= new EffectUses(
      (operation, end) => effectKey(this.#parts.stream.confirmed.workflow, this.#task, operation, end),
      {
        recorded: this.#run.effectsOf(this.#task),
        outcomes: this.#parts.content.outcomes(),
        clock: this.#parts.ports.clock,
        signal: this.#signal,
      },
    );
    return this.#made;
  }

  /** Runs the step. The order of its calls is known only of those that are made within. */
  within<T>(step: () => T): T {
    return markedFrom(this, step);
  }

  /**
   * Must be called when the step has ended. Resolves once it is known for each intention whether its call is made, and no call is running
   * that the step did not await. Undefined if the step called nothing.
   */
  close(): Promise<void> | undefined {
    return this.#made?.close();
  }

  /** `request`: what identifies the closure, if it isn't its place in the code of the step. */
  async run(name: string, body: (signal: AbortSignal) => unknown, options: RunOptions, request?: Json): Promise<Json> {
    this.#signal.throwIfAborted();
    const { digest } = this.#parts.ports;
    const operation = `run.${name}`;
    const asked = request === undefined ? undefined : digestOf(digest, request);
    const path = pathOf(this, digest, operation, options.name, asked);
    const inPlace: Use = { operation, name: options.name, requestDigest: asked ?? path };
    const isPlaced = asked === undefined && options.name === undefined;
    if (isPlaced && this.#isUnordered(inPlace)) throw this.#uses.refuse(await this.#unordered(name, inPlace));
    const use = isPlaced ? this.#closureIn(inPlace) : inPlace;
    const found = await this.#closure(name, body, use, path, asked === undefined);
    // It waited for its turn, and the step has taken another way: the place is not the one that was recorded.
    if (!isPlaced || !found.isRecorded || !this.#uses.order.isLost) return found.value;
    return (await this.#closure(name, body, this.#closureIn(inPlace), path, false)).value;
  }

  async #closure(
    name: string,
    body: (signal: AbortSignal) => unknown,
    use: Use,
    path: Sha256,
    isOnce: boolean,
  ): Promise<{ readonly value: Json; readonly isRecorded: boolean }> {
    const { digest, clock } = this.#parts.ports;
    const key = this.#uses.claim(use) ?? (await this.#uses.claimed(use));
    if (isOnce) this.#uses.nameOnce(key, name);
    const { operation, requestDigest } = use;
    const call = { task: this.#task, key, operation, kind: 'pure', requestDigest } as const;
    let isRecorded = true;
    const value = await this.#uses.inTurn(key, async () => {
      const known = this.#recorded(key);
      if (known !== undefined) return known;
      const replayed = await this.#replayedClosure(call);
      isRecorded = replayed !== undefined;
      const startedAtMs = clock.nowMs();
      enterBody(this, path);
      const response = await this.#result(name, key, () =>
        replayed === undefined ? body(this.#signal) : replayed.response,
      );
      this.#uses.order.recording(key);
      await this.#parts.flushing.writeStaged([resolvedDraft(digest, call, response, undefined, startedAtMs)]);
      this.#parts.content.journaled(key, { status: 'done', response });
      return response;
    });
    return { value, isRecorded };
  }

  async effect(effect: EffectDefinition, input: unknown, options: RunOptions): Promise<Json> {
    this.#signal.throwIfAborted();
    const { digest } = this.#parts.ports;
    const request = effect.parseRequest(input);
    const use: Use = { operation: effect.operation, name: options.name, requestDigest: digestOf(digest, request) };
    pathOf(this, digest, use.operation, use.name, use.requestDigest);
    const { asked } = effect;
    // The record doesn't have what was masked, so it can't tell two requests apart that differ in nothing else.
    if (asked !== undefined && use.name === undefined && this.#uses.isAmbiguous(use, digestOf(digest, asked))) {
      const why = 'their requests differ in secrets alone, which are masked';
      throw this.#uses.refuse(unordered(`ctx.effect(${use.operation})`, use, why));
    }
    const key = this.#uses.claim(use) ?? (await this.#uses.claimed(use));
    return this.#parts.gate.pass(this.#signal, () => this.#uses.calling(key, () => this.#effect(effect, key, request)));
  }

  async #replayedClosure(call: EffectCall): Promise<{ readonly response: Json } | undefined> {
    const { replay } = this.#parts;
    if (replay === undefined) return undefined;
    await this.#uses.expect(() => replay.outcomes(this.#task));
    const found = await replay.closure(call);
    if (found !== undefined) this.#uses.order.answeredBy(call.key, found.key);
    return found;
  }

  async #result(name: string, key: EffectKey, body: () => unknown): Promise<Json> {
    try {
      const value = await body();
      this.#signal.throwIfAborted();
      return toJson(value ?? null, `result of ctx.run('${name}')`);
    } catch (error) {
      // The step may try it again, by the same name.
      this.#uses.failed(key);
      throw error;
    }
  }

  /** Once the step has taken another way, its places say nothing about what is recorded: its closures run again. */
  #closureIn(use: Use): Use {
    const { digest } = this.#parts.ports;
    if (!this.#uses.order.isLost) return use;
    return { ...use, requestDigest: digestOf(digest, [use.requestDigest, this.#parts.newCheckpoint()]) };
  }

  /** Whether this attempt or an earlier one had another closure in the same place. */
  #isUnordered(use: Use): boolean {
    return this.#uses.isAmbiguous(use) || this.#uses.isDoubled(use);
  }

  /**
   * The error for a closure whose order the code doesn't give: at another attempt it could get what another one recorded. It is recorded
   * too, so that no later attempt answers the one that arrives first.
   */
  async #unordered(name: string, use: Use): Promise<ParkError> {
    const { digest } = this.#parts.ports;
    const error = unordered(`ctx.run('${name}')`, use, 'the code does not say in which order');
    if (this.#uses.isDoubled(use)) return error;
    const { operation, requestDigest } = use;
    const key = this.#uses.fresh(operation);
    const note = errorNote(error);
    const call = { task: this.#task, key, operation, kind: 'pure', requestDigest } as const;
    await this.#parts.flushing.writeStaged([notDoneDraft(digest, call, note)]);
    this.#parts.content.journaled(key, { status: 'failed', error: note });
    return error;
  }

  async #effect(effect: EffectDefinition, key: EffectKey, request: Json): Promise<Json> {
    try {
      refuseOther(this.#stateOf(key), key, request, this.#parts.ports.digest);
    } catch (error) {
      throw this.#uses.refuse(error as Error);
    }
    const { replay } = this.#parts;
    if (replay !== undefined) {
      await this.#uses.expect(() => replay.outcomes(this.#task));
      const place = { task: this.#task, signal: this.#signal, order: this.#uses.order };
      return replayedEffect(this.#run, replay, place, effect, key, request);
    }
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
   * Recovers an effect that was begun before. Returns its response if it is done. Otherwise the caller continues with what is recorded, or
   * calls; `isClear`: no earlier call of the key was done. Undefined if a confirmation or a timer changed the effect during the probe: the
   * caller then starts from the new state.
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

  /** Continues to wait for a confirmation. Throws `ParkError` when that is overdue. */
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
    // The content must know this before the write: a confirmation may directly follow the event in the log, and be folded in the same turn.
    this.#parts.content.awaits(key, wait.token);
    await this.#parts.flushing.write([pendingDraft(this.#run, this.#task, effect, key, wait)]);
    throw new SuspendedError(key);
  }

  /** Throws if the receiver confirmed that the call was not done. This fails one attempt of the step, which may then call again. */
  #reportFailure(effect: EffectDefinition, { key, isUntold }: EffectState): void {
    if (!isUntold) return;
    const entry = this.#parts.content.journalOf(key);
    const why = entry?.status === 'failed' ? entry.error.message : 'it was not done';
    throw new EffectError(effect.operation, effect.retry, new NotDoneError(why, { confirmed: true }));
  }

  #stateOf(key: EffectKey): EffectState | undefined {
    return this.#run.effectsOf(this.#task).find((other) => other.key === key);
  }

  /**
   * Whether others have changed the effect since then. Their events take precedence over what recovery found out about the earlier state.
   */
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
    this.#uses.order.recording(key);
    await this.#parts.flushing.writeStaged([
      resolvedDraft(this.#parts.ports.digest, call, response, undefined, startedAtMs),
    ]);
    this.#parts.content.journaled(key, { status: 'done', response });
    return response;
  }

  /**
   * Intends the effect, calls it within the window that the intention opens, and resolves it. `isClear`: no earlier call of the key can
   * have been made.
   */
  async #call(effect: EffectDefinition, key: EffectKey, request: Json, isClear: boolean): Promise<Json> {
    const { clock } = this.#parts.ports;
    for (;;) {
      const prepared = await this.#prepare(effect, key);
      // The window counts from before the log accepts the intention: a process that is suspended in between must not call late.
      const sentMs = clock.monotonicMs();
      const mayCall = await this.#intend(effect, key, request, prepared);
      // This check is the last step before the call.
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

  /**
   * Appends the intention. Resolves with true if the call may be made now, and with false if it must be intended again, because other calls
   * have reserved the budget. Rejects if the call must not be made any more.
   */
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
      // The call was not made, and the record tells the next holder so.
      await this.#recordNotDone(effect, key, request, new NotDoneError('The worker stopped before the call.'));
      throw this.#signal.reason;
    } finally {
      decided();
    }
  }

  /** The reason why the call must not be made after all; undefined if it may be. */
  async #confirm(prepared: PreparedCall | undefined): Promise<unknown> {
    if (this.#signal.aborted) return undefined;
    return prepared?.confirm?.().then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** Prepares the call. A call that was intended before is prepared from its recorded origin, so that it sends the same again. */
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
    const intend = intendedDraft(this.#asked(effect, key, request), request, effect.timeoutMs, prepared);
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

  /**
   * Records a failure that is certain, and returns the error for the step. A call in doubt stays intended, and the next attempt decides it
   * by the recovery table.
   */
  async #failed(
    effect: EffectDefinition,
    key: EffectKey,
    request: Json,
    isClear: boolean,
    thrown: unknown,
  ): Promise<unknown> {
    if (this.#signal.aborted || thrown instanceof FencedError) return thrown;
    const error = this.#run.hideSecrets(effect.operation, thrown);
    // A failed model call has changed nothing outside, so the step may continue without it.
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
    this.#uses.order.recording(key);
    await this.#parts.flushing.write([notDoneDraft(this.#parts.ports.digest, call, note, spent)]);
    this.#parts.content.journaled(key, { status: 'failed', error: note });
  }

  #asked({ operation, kind }: EffectDefinition, key: EffectKey, request: Json): EffectCall {
    return { task: this.#task, key, operation, kind, requestDigest: digestOf(this.#parts.ports.digest, request) };
  }

  /** Appends the response, and then journals it here: an effect whose outcome could not be appended is not resolved. */
  async #resolve(effect: EffectDefinition, key: EffectKey, request: Json, response: Json): Promise<void> {
    const call = this.#asked(effect, key, request);
    this.#uses.order.recording(key);
    try {
      await this.#parts.flushing.write([resolvedDraft(this.#parts.ports.digest, call, response, effect.spentOf)]);
    } catch (error) {
      if (error instanceof LimitError) throw await this.#tooLarge(effect, key, request, response, error);
      if (this.#signal.aborted || error instanceof FencedError) throw error;
      throw new EffectError(effect.operation, effect.retry, error);
    }
    this.#parts.content.journaled(key, { status: 'done', response }, effect.spentOf !== undefined);
  }

  /**
   * The call was made, but its answer is too large for the log. Records the cost of a model call; for any other effect a person decides.
   */
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
