/**
 * Owns the calls of one attempt to the outside: `run` and `effect`, journaled by key. It decides which key each has, and what a closure
 * returns; what becomes of an effect's call is that call's (see journaled-call.ts).
 */

import { type Payloads, toJson } from '@tidemark/codec';
import { type EffectKey, effectKey, type Json, type TaskId } from '@tidemark/core';
import { type EffectDefinition, errorNote, type ParkError, type RunOptions } from '../definition/index.ts';
import { digestOf } from '../kernel/index.ts';
import type { AttemptEnds } from './attempts.ts';
import { Breath, enterBody, markedFrom, type Way, wayTo } from './call-path.ts';
import { mayBeAnswered } from './changed-request.ts';
import { type EffectCall, notDoneDraft, resolvedDraft } from './effect-drafts.ts';
import { unordered } from './effect-recovery.ts';
import type { EffectRun, EffectRunParts, LogDetail, RecordedCalls } from './effect-run.ts';
import { EffectUses, type Use } from './effect-uses.ts';
import { JournaledCall } from './journaled-call.ts';

export class EffectJournal {
  readonly #run: EffectRun;
  readonly #parts: EffectRunParts;
  readonly #task: TaskId;
  readonly #ends: Pick<AttemptEnds, 'over'>;
  readonly #breath = new Breath();
  /** Receives what people should know of the attempt. */
  readonly #warn: (about: LogDetail) => void;
  #intentions: Promise<RecordedCalls> | undefined;
  /** Created on first use, since most steps call nothing. */
  #made: EffectUses | undefined;

  constructor(run: EffectRun, task: TaskId, ends: Pick<AttemptEnds, 'over'>, warn: (about: LogDetail) => void) {
    this.#run = run;
    this.#warn = warn;
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
        breath: this.#breath,
        recordedCalls: () => this.#recordedCalls(),
      },
    );
    return this.#made;
  }

  /** The intentions of this task's calls; only a call whose request has changed needs them. */
  async #recordedCalls(): Promise<RecordedCalls> {
    this.#intentions ??= this.#parts.recordedCalls(this.#task);
    try {
      return await this.#intentions;
    } catch (error) {
      this.#intentions = undefined;
      throw error;
    }
  }

  /** Runs the step. The order of its calls is known only of those that are made within. */
  within<T>(step: () => T): T {
    this.#breath.begin();
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
    const way = wayTo(this, digest, { operation, name: options.name, what: asked });
    const inPlace: Use = { operation, name: options.name, requestDigest: asked ?? way.path };
    const isPlaced = asked === undefined && options.name === undefined;
    if (isPlaced && this.#isUnordered(inPlace)) throw this.#uses.refuse(await this.#unordered(name, inPlace));
    const use = isPlaced ? this.#closureIn(inPlace) : inPlace;
    const found = await this.#closure(name, body, use, way, asked === undefined);
    // While this call waited its turn, the step took another path, so the recorded place no longer applies.
    if (!isPlaced || !found.isRecorded || !this.#uses.order.isLost) return found.value;
    return (await this.#closure(name, body, this.#closureIn(inPlace), way, false)).value;
  }

  async #closure(
    name: string,
    body: (signal: AbortSignal) => unknown,
    use: Use,
    way: Way,
    isOnce: boolean,
  ): Promise<{ readonly value: Json; readonly isRecorded: boolean }> {
    const { digest, clock } = this.#parts.ports;
    const key = this.#uses.claim(use) ?? (await this.#uses.claimed(use));
    if (isOnce) this.#uses.nameOnce(key, name);
    const { operation, requestDigest } = use;
    const call = { task: this.#task, key, operation, kind: 'pure', requestDigest } as const;
    let isRecorded = true;
    const answer = async (): Promise<Json> => {
      const known = this.#run.responseTo(key);
      if (known !== undefined) return known;
      const replayed = await this.#replayedClosure(call);
      isRecorded = replayed !== undefined;
      const startedAtMs = clock.nowMs();
      enterBody(this, way);
      const response = await this.#result(name, key, () =>
        replayed === undefined ? body(this.#signal) : replayed.response,
      );
      this.#uses.order.recording(key);
      await this.#parts.flushing.writeStaged([resolvedDraft(digest, call, response, undefined, startedAtMs)]);
      this.#parts.content.journaled(key, { status: 'done', response });
      return response;
    };
    return { value: await this.#uses.inTurn({ key, answer }), isRecorded };
  }

  async effect(effect: EffectDefinition, input: unknown, options: RunOptions): Promise<Json> {
    this.#signal.throwIfAborted();
    const { digest } = this.#parts.ports;
    const request = effect.parseRequest(input);
    const { asked, kind } = effect;
    const asks = { operation: effect.operation, name: options.name, requestDigest: digestOf(digest, request) };
    const way = wayTo(this, digest, { ...asks, what: asks.requestDigest, isInOrder: this.#breath.isOpen });
    const place = kind === 'pure' || asks.name !== undefined ? undefined : way.place;
    const use: Use = { ...asks, place, isInDoubt: ({ key }, intended) => this.#isInDoubt(effect, key, intended) };
    // The record doesn't have what was masked, so it can't tell two requests apart that differ in nothing else.
    if (asked !== undefined && use.name === undefined && this.#uses.isAmbiguous(use, digestOf(digest, asked))) {
      const why = 'their requests differ in secrets alone, which are masked';
      throw this.#uses.refuse(unordered(`ctx.effect(${use.operation})`, use, why));
    }
    const key = this.#uses.claim(use) ?? (await this.#uses.claimed(use));
    const { operation, requestDigest } = use;
    const recorded = { task: this.#task, key, operation, kind: effect.kind, requestDigest };
    const call = new JournaledCall(
      this.#run,
      {
        ...{ uses: this.#uses, signal: this.#signal, way, warn: this.#warn },
        recordedCalls: () => this.#recordedCalls(),
      },
      { effect, request, recorded, place },
    );
    const { gate } = this.#parts;
    while (gate.isClosed) await gate.opening(this.#signal);
    const calling = this.#uses.calling(call);
    return gate.passing(calling);
  }

  #isInDoubt(effect: EffectDefinition, key: EffectKey, intended: Payloads['EffectIntended'] | undefined): boolean {
    if (!mayBeAnswered(effect, this.#parts.content.journalOf(key))) return false;
    return intended === undefined || effect.isAnother?.(intended.request) !== true;
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

  /** Once the step has taken another path, its recorded places no longer apply: its closures run again. */
  #closureIn(use: Use): Use {
    if (!this.#uses.order.isLost) return use;
    const requestDigest = digestOf(this.#parts.ports.digest, [use.requestDigest, this.#parts.newCheckpoint()]);
    return { ...use, requestDigest };
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
}
