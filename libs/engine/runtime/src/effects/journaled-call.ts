/**
 * Owns one call of an effect, from what is recorded of it to its outcome. An effect that leaves the process is intended before its call and
 * resolved after it, and the log has accepted each event before the next action; a recorded outcome is never repeated (I4). The recovery
 * table alone decides about a call that a dead holder left open: probe it, call it again with the same key, or let a person decide. It does
 * not decide which record answers it (see effect-uses.ts).
 */

import { canonicalJson } from '@tidemark/codec';
import {
  type EffectKey,
  type EffectState,
  FencedError,
  InvalidError,
  type Json,
  LimitError,
  type ProbeAnswer,
} from '@tidemark/core';
import {
  CallWaitError,
  ContendedError,
  type EffectDefinition,
  EffectError,
  errorNote,
  NotDoneError,
  ParkError,
  PendingResult,
  type PreparedCall,
  type RecordedPrompt,
  SuspendedError,
} from '../definition/index.ts';
import { promptOf } from '../history/index.ts';
import type { Way } from './call-path.ts';
import { CallTurn, NO_TURN, type TakenTurn } from './call-turn.ts';
import { mayBeAnswered, otherSent, recordedCall } from './changed-request.ts';
import { answerInTime } from './effect-call.ts';
import { type AskedCall, type EffectCall, intendedDraft, notDoneDraft, resolvedDraft } from './effect-drafts.ts';
import { checkedToken, firstWait, overdue, pendingDraft, type Wait } from './effect-pending.ts';
import { arrived, fitting, type Recovered, recoverEffect, sentKey } from './effect-recovery.ts';
import type { EffectRun, EffectRunParts, LogDetail, RecordedCalls } from './effect-run.ts';
import type { EffectUses, UseInTurn } from './effect-uses.ts';
import { isHarmless, keptEffect } from './kept-effect.ts';
import { CALL_WINDOW_MS } from './limits.ts';
import { answerTooLarge, responseTooLarge } from './outcome-too-large.ts';
import { replayedEffect } from './replayed-effect.ts';

/** What a call has of its attempt. */
export interface CallAttempt {
  readonly uses: EffectUses;
  readonly signal: AbortSignal;
  readonly way: Pick<Way, 'asked'>;
  readonly warn: (about: LogDetail) => void;
  readonly recordedCalls: () => Promise<RecordedCalls>;
}

export class JournaledCall implements AskedCall, UseInTurn {
  effect: EffectDefinition;
  request: Json;
  recorded: EffectCall;
  readonly place: string | undefined;
  readonly #attempt: CallAttempt;
  readonly #run: EffectRun;
  readonly #parts: EffectRunParts;
  readonly #uses: EffectUses;
  readonly #signal: AbortSignal;
  /** Whether no earlier call of the key can have been made. */
  #isClear = true;
  #sends: EffectKey | undefined;

  constructor(run: EffectRun, attempt: CallAttempt, { effect, request, recorded, place }: Omit<AskedCall, 'key'>) {
    this.#run = run;
    this.#parts = run.parts;
    this.#attempt = attempt;
    this.#uses = attempt.uses;
    this.#signal = attempt.signal;
    this.place = place;
    this.effect = effect;
    this.request = request;
    this.recorded = recorded;
  }

  get key(): EffectKey {
    return this.recorded.key;
  }

  async answer(): Promise<Json> {
    const was = this.#state;
    if (was !== undefined && was.requestDigest !== this.recorded.requestDigest) await this.#takeRecorded(was);
    const { replay } = this.#parts;
    if (replay !== undefined) {
      await this.#uses.expect(() => replay.outcomes(this.recorded.task));
      const { signal, warn, uses } = this.#attempt;
      const turn = { signal, warn, order: uses.order, isAlone: () => uses.isAlone() };
      if (replay.base.effects === 'replay') return replayedEffect(this.#run, replay, this, turn);
      const kept = await keptEffect(this.#run, replay, this, turn);
      if (kept !== undefined) return kept.response;
      this.#sendAs(await replay.sends(this.recorded));
    }
    for (;;) {
      const left = this.#state;
      const isSettled = this.#run.responseTo(this.key) !== undefined && !this.#run.unvalidated.has(this.key);
      if (isSettled || left === undefined) break;
      if (left.status === 'failed') {
        this.#reportFailure(left);
        break;
      }
      const recovered = await this.#recover(left);
      if (recovered === undefined) continue;
      if ('response' in recovered) return recovered.response;
      this.#isClear = recovered.isClear;
      break;
    }
    const known = this.#run.responseTo(this.key);
    if (known !== undefined) return fitting(this, known);
    return this.effect.kind === 'pure' ? this.#pure() : this.#call();
  }

  /** Another request is recorded under the key: that is sent, or a person asked (`request-changed`). */
  async #takeRecorded(known: EffectState): Promise<void> {
    const intended = (await this.#attempt.recordedCalls()).get(this.key);
    this.#signal.throwIfAborted();
    const isToldApart = this.#uses.isToldApart(this.key, this.recorded.requestDigest);
    try {
      const changed = { asked: this, known, isToldApart, intended };
      const { effect, request, warning } = await recordedCall(changed, this.#parts.ports.telemetry);
      this.effect = effect;
      this.request = request;
      this.recorded = { ...this.recorded, requestDigest: known.requestDigest };
      this.#attempt.way.asked(known.requestDigest);
      this.#attempt.warn(warning);
    } catch (error) {
      throw error instanceof ParkError ? this.#uses.refuse(error) : error;
    }
  }

  /** The call is made again in place of one whose outcome was discarded, under that one's key. */
  #sendAs(key: EffectKey | undefined): void {
    if (key === undefined) return;
    const { effect } = this;
    this.#sends = key;
    this.effect = { ...effect, sentKey: (_, request) => effect.sentKey?.(key, request) ?? key };
  }

  /**
   * Recovers an effect that was begun before. Returns its response if it is done. Otherwise the caller continues with what is recorded, or
   * calls; `isClear`: no earlier call of the key was done. Undefined if a confirmation or a timer changed the effect during the probe: the
   * caller then starts from the new state.
   */
  async #recover(left: EffectState): Promise<{ readonly response: Json } | { readonly isClear: boolean } | undefined> {
    const { effect, key, request } = this;
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
        await this.#resolve(recovered.response);
        return recovered;
      case 'wait':
        return this.#waitOn(left, recovered.answer);
      case 'valid':
        return { isClear: true };
      case 'call':
        return recovered;
    }
  }

  /** Continues to wait for a confirmation. Throws `ParkError` when that is overdue. */
  #waitOn({ pending }: EffectState, answer: ProbeAnswer): Promise<never> {
    const { token = '', deadline = null } = pending ?? {};
    if (deadline === null) throw overdue(this, token, answer);
    return this.#suspend({ token, deadline, detail: null });
  }

  async #suspend(wait: Wait): Promise<never> {
    // The content must know this before the write: a confirmation may directly follow the event in the log, and be folded in the same turn.
    this.#parts.content.awaits(this.key, wait.token);
    await this.#parts.flushing.write([pendingDraft(this.#run, this, wait)]);
    throw new SuspendedError(this.key);
  }

  /** Throws if the receiver confirmed that the call was not done. This fails one attempt of the step, which may then call again. */
  #reportFailure({ isUntold }: EffectState): void {
    if (!isUntold) return;
    const entry = this.#parts.content.journalOf(this.key);
    const why = entry?.status === 'failed' ? entry.error.message : 'it was not done';
    throw this.#error(new NotDoneError(why, { confirmed: true }), true);
  }

  get #state(): EffectState | undefined {
    return this.#run.effectsOf(this.recorded.task).find((other) => other.key === this.key);
  }

  /**
   * Whether others have changed the effect since then. Their events take precedence over what recovery found out about the earlier state.
   */
  #hasChanged(left: EffectState): boolean {
    return canonicalJson(this.#state as unknown as Json) !== canonicalJson(left as unknown as Json);
  }

  async #pure(): Promise<Json> {
    const startedAtMs = this.#parts.ports.clock.nowMs();
    const turn = this.#parts.ports.calls === undefined ? NO_TURN : await this.#turn(undefined);
    const response = await this.#made(turn);
    if (response instanceof PendingResult) {
      throw new InvalidError(
        'pending-pure',
        `${this.effect.operation} is pure, so there is nothing outside to be confirmed. Define it as idempotent or irreversible.`,
      );
    }
    const resolved = resolvedDraft(this.#parts.ports.digest, this.recorded, response, undefined, startedAtMs);
    this.#uses.order.recording(this.key);
    await this.#parts.flushing.writeStaged([resolved]);
    this.#parts.content.journaled(this.key, { status: 'done', response });
    return response;
  }

  /** Intends the effect, calls it within the window that the intention opens, and resolves it. */
  async #call(): Promise<Json> {
    const { clock } = this.#parts.ports;
    // A key that can't be made is known before anything is intended.
    sentKey(this);
    let turn: TakenTurn | undefined;
    let answer: Json;
    const before = await this.#sentBefore();
    try {
      for (;;) {
        const prepared = await this.#prepare(before);
        // Taken before the first intention, and kept until the call: a wait between them would leave it in doubt.
        turn ??= this.#parts.ports.calls === undefined ? NO_TURN : await this.#turn(prepared);
        // The window counts from before the log accepts the intention: a process that is suspended in between must not call late.
        const sentMs = clock.monotonicMs();
        const mayCall = await this.#intend(prepared);
        // This check is the last step before the call.
        if (mayCall && clock.monotonicMs() - sentMs <= CALL_WINDOW_MS) break;
        // Else the next intention would take a model call that was never made for one that may have been paid for.
        if (mayCall && this.effect.lostOf !== undefined)
          await this.#recordNotDone(new NotDoneError('It came too late.'));
        if (mayCall) continue;
        // Of what was intended and given up it is recorded that it was not done.
        void turn.end({ kind: 'unmade' });
        turn = undefined;
      }
      answer = await this.#answered(turn);
    } finally {
      // Its end has been told by now, unless it was not made.
      void turn?.end({ kind: 'unmade' });
    }
    await this.#resolve(answer);
    return answer;
  }

  /** The call's turn under what it shares with others. */
  async #turn(prepared: PreparedCall | undefined): Promise<TakenTurn> {
    const { ports, onWait, stream } = this.#parts;
    const dependencies = { ports, onWait, tenant: stream.confirmed.tenant, signal: this.#signal };
    const tokens = prepared?.control.model?.reserved.tokens ?? 0;
    try {
      return await CallTurn.taken(dependencies, this, tokens);
    } catch (error) {
      throw error instanceof CallWaitError ? this.#error(error, true) : error;
    }
  }

  /** Its end is reported while the outcome is recorded: nothing waits for that. */
  #made(turn: TakenTurn): Promise<Json | PendingResult> {
    return turn === NO_TURN ? this.#callOnce() : this.#reporting(turn);
  }

  async #reporting(turn: TakenTurn): Promise<Json | PendingResult> {
    turn.begin();
    try {
      const answer = await this.#callOnce();
      void turn.end({ spent: answer instanceof PendingResult ? undefined : this.effect.spentOf?.(answer) });
      return answer;
    } catch (error) {
      void turn.end({ error });
      throw error;
    }
  }

  async #answered(turn: TakenTurn): Promise<Json> {
    try {
      const answer = await this.#run.withinCall(this.key, () => this.#made(turn));
      if (!(answer instanceof PendingResult)) return answer;
      return await this.#suspend(firstWait(this.#run, this.effect, answer));
    } catch (error) {
      if (error instanceof SuspendedError) throw error;
      throw await this.#failed(error);
    }
  }

  /**
   * Appends the intention. Resolves with true if the call may be made now, and with false if it must be intended again, because other calls
   * have reserved the budget. Rejects if the call must not be made any more.
   */
  async #intend(prepared: PreparedCall | undefined): Promise<boolean> {
    this.#signal.throwIfAborted();
    const decided = this.#uses.intending();
    try {
      await this.#writeIntention(prepared);
      const refused = await this.#confirm(prepared);
      if (refused !== undefined) {
        await this.#recordNotDone(new NotDoneError(errorNote(refused).message));
        if (!(refused instanceof ContendedError)) throw refused;
        return false;
      }
      if (!this.#signal.aborted) return true;
      // The call was not made, and the record tells the next holder so.
      await this.#recordNotDone(new NotDoneError('The worker stopped before the call.'));
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

  /** The prompt under the key, where the call must send it again: of a call that was left open, or may have been answered. */
  async #sentBefore(): Promise<RecordedPrompt | undefined> {
    const { effect, key } = this;
    const entry = effect.prepare && this.#parts.content.journalOf(key);
    if (entry?.status === 'intended') return entry;
    if (!mayBeAnswered(effect, entry)) return undefined;
    // Rows have the intention, whoever wrote it.
    const calls = await this.#parts.recordedCalls(this.recorded.task);
    this.#signal.throwIfAborted();
    return calls.get(key);
  }

  async #prepare(before: RecordedPrompt | undefined): Promise<PreparedCall | undefined> {
    const prepared = await this.effect.prepare?.(this.key, before);
    this.#signal.throwIfAborted();
    const { payload = {} } = prepared ?? {};
    const isRebuilt = payload.bundle?.messages === before?.bundle?.messages;
    if (before !== undefined && !(isRebuilt && payload.sent?.messages === before.sent?.messages))
      otherSent(this, this.#parts.ports.telemetry, this.#attempt.warn);
    return prepared;
  }

  async #writeIntention(prepared: PreparedCall | undefined): Promise<void> {
    const { key, request } = this;
    const sends = this.#sends;
    const intended = intendedDraft(this, sends === undefined ? prepared : withKey(prepared, sends));
    await this.#parts.flushing.write(this.#run.reserving(this.recorded.task, intended));
    this.#run.wasIntended(key);
    this.#parts.content.journaled(key, { status: 'intended', request, ...promptOf(prepared?.payload) });
  }

  async #callOnce(): Promise<Json | PendingResult> {
    const { effect, request } = this;
    const { timeoutMs, heartbeatTimeoutMs, operation } = effect;
    const limits = { what: `The call of ${operation}`, timeoutMs, heartbeatTimeoutMs };
    const answer = await answerInTime(this.#parts.ports.clock, this.#signal, limits, ({ signal, heartbeat }) =>
      this.#parts.callEffect(effect, effect.asked ?? request, {
        key: sentKey(this),
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
  async #failed(thrown: unknown): Promise<unknown> {
    if (this.#signal.aborted || thrown instanceof FencedError) return thrown;
    const error = this.#run.hideSecrets(this.effect.operation, thrown);
    // A failed call of a model, or of a tool that only answers, has changed nothing outside: the step may continue without it.
    const isCertain = (error instanceof NotDoneError && this.#isClear) || isHarmless(this.effect);
    if (isCertain) await this.#recordNotDone(error);
    return this.#error(error, isCertain);
  }

  async #recordNotDone(error: unknown, spent = this.effect.lostOf?.(error)): Promise<void> {
    const note = errorNote(error);
    this.#uses.order.recording(this.key);
    await this.#parts.flushing.write([notDoneDraft(this.#parts.ports.digest, this.recorded, note, spent)]);
    this.#parts.content.journaled(this.key, { status: 'failed', error: note });
  }

  /** Appends the response, and then journals it here: an effect whose outcome could not be appended is not resolved. */
  async #resolve(response: Json): Promise<void> {
    const { spentOf } = this.effect;
    this.#uses.order.recording(this.key);
    try {
      await this.#parts.flushing.write([resolvedDraft(this.#parts.ports.digest, this.recorded, response, spentOf)]);
    } catch (error) {
      if (error instanceof LimitError) throw await this.#tooLarge(response, error);
      if (this.#signal.aborted || error instanceof FencedError) throw error;
      throw this.#error(error);
    }
    this.#parts.content.journaled(this.key, { status: 'done', response }, spentOf !== undefined);
  }

  /**
   * The call was made, but its answer is too large for the log. Records the cost of a model call; for any other effect a person decides.
   */
  async #tooLarge(response: Json, cause: LimitError): Promise<Error> {
    const { spentOf } = this.effect;
    if (spentOf === undefined) return responseTooLarge(this, response, cause);
    const error = answerTooLarge(this.effect, cause);
    await this.#recordNotDone(error, spentOf(response));
    return this.#error(error, true);
  }

  #error(cause: unknown, isSettled = false): EffectError {
    return new EffectError(this.effect, cause, isSettled);
  }
}

const withKey = (prepared: PreparedCall | undefined, sends: EffectKey): PreparedCall => ({
  control: {},
  ...prepared,
  payload: { ...prepared?.payload, sends },
});
