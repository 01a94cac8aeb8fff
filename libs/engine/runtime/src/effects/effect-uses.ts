/**
 * Owns which recorded call each use of an effect in one attempt is: the keys of uses, the turns of uses of the same key, and which uses are
 * still running. Calls that overlap arrive in any order, so a use without a name is matched by what it asks before its order counts.
 *
 * U1 A record answers one use of an attempt: one that asks the same, or else the one that stands in its place (U3).
 * U2 No new call is made while a recorded one that it may be repeating is not repeated: that would be a changed request.
 * U3 A use whose request has changed stands in a record's place where nothing else can: it has the record's name, or its place in the code
 *    is that of one record, and no other changed use waits. Any other is not told apart (`isToldApart`), and gets no one's outcome.
 */

import { NAME_MAX_CHARS, type Payloads } from '@tidemark/codec';
import { type EffectKey, type EffectState, InvalidError, type Json, type Sha256 } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { WOKEN } from '../kernel/index.ts';
import { type Breath, isInOrder, isSamePlace } from './call-path.ts';
import type { RecordedCalls } from './effect-run.ts';
import { RECORD_CLAIM_PERIOD_MS } from './limits.ts';
import { OutcomeOrder } from './outcome-order.ts';

/**
 * A call that matches no record waits until the step has repeated the calls that it made before. After this many periods in which no call
 * of the step began, ran or ended, it counts as one of those with a changed request. (A stopped process loses one period, not all of them.)
 */
export const RECORD_CLAIM_PERIODS = 10;

/** One use of an effect, a model or a closure. */
export interface Use {
  readonly operation: string;
  readonly name: string | undefined;
  readonly requestDigest: Sha256;
  /** Where it is made; absent: only what it asks counts. */
  readonly place?: string | undefined;
  /** Whether a failed call may have been done all the same: then it is sent again, and nothing else in its place. Absent: none may. */
  readonly isInDoubt?: ((failed: EffectState, intended?: Payloads['EffectIntended']) => boolean) | undefined;
}

/** A use that has its key. */
export interface UseInTurn {
  readonly key: EffectKey;
  answer(): Promise<Json>;
}

/** A name that could be taken for an ordinal is set apart from them. */
const LIKE_ORDINAL = /^=*\d+$/;
const ORDINAL = /^\d+$/;

export class EffectUses {
  /** The key of an operation's use with this name or ordinal. */
  readonly #keyOf: (operation: string, end: string | number) => EffectKey;
  /** What earlier attempts recorded and no use of this one has claimed yet. */
  readonly #unclaimed = new Map<EffectKey, EffectState>();
  /** The same, by operation and request, the lowest ordinal first. */
  readonly #asked = new Map<string, EffectState[]>();
  /** The operation of each key that is recorded or claimed. */
  readonly #operations = new Map<EffectKey, string>();
  /** The lowest ordinal of each operation that may be free. */
  readonly #ordinals = new Map<string, number>();
  /** Digests of what was masked in requests, which is not recorded. */
  readonly #secrets = new Map<string, Sha256 | undefined>();
  /** The latest use of each key, for which the next one waits: two uses at once would call twice. */
  readonly #last = new Map<EffectKey, Promise<unknown>>();
  /** Keys of closures of this attempt that run or have a result. */
  readonly #closures = new Set<EffectKey>();
  /** Intentions for which it is not decided yet whether the call is made. */
  readonly #deciding = new Set<Promise<void>>();
  /** Uses that wait until each record is claimed, and what wakes them. */
  readonly #waiting = new Set<AbortController>();
  readonly #unmatched = new Set<Use>();
  /** What the uses asked that stand in the place of a record. */
  readonly #changed = new Map<EffectKey, Sha256>();
  readonly #breath: Pick<Breath, 'begin' | 'ended'>;
  readonly #recordedCalls: () => Promise<RecordedCalls>;
  readonly order: OutcomeOrder;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  /** Operation and request of each effect that this run recorded before this attempt. */
  readonly #own: readonly string[];
  #expected: Promise<void> | undefined;
  #refusal: Error | undefined;
  #callingCount = 0;
  #isClosed = false;

  /**
   * `recorded`: the task's effects before this attempt; `outcomes`: keys of the stream's recorded outcomes, in the order of the log;
   * `recordedCalls`: the intentions of the task's calls.
   */
  constructor(
    keyOf: (operation: string, end: string | number) => EffectKey,
    {
      recorded,
      outcomes,
      clock,
      signal,
      breath,
      recordedCalls,
    }: {
      readonly recorded: readonly EffectState[];
      readonly outcomes: readonly EffectKey[];
      readonly breath: Pick<Breath, 'begin' | 'ended'>;
      readonly recordedCalls: () => Promise<RecordedCalls>;
      readonly clock: Clock;
      readonly signal: AbortSignal;
    },
  ) {
    this.#keyOf = keyOf;
    this.#clock = clock;
    this.#signal = signal;
    this.#breath = breath;
    this.#recordedCalls = recordedCalls;
    const own = new Set(recorded.map(({ key }) => key));
    this.#own = recorded.map(questionOf);
    this.order = new OutcomeOrder(
      clock,
      signal,
      outcomes.filter((key) => own.has(key)),
      (key) => !this.#unclaimed.has(key),
    );
    for (const effect of recorded) {
      this.#operations.set(effect.key, effect.operation);
      this.#unclaimed.set(effect.key, effect);
      const asked = questionOf(effect);
      this.#asked.set(asked, [...(this.#asked.get(asked) ?? []), effect]);
    }
    for (const same of this.#asked.values()) same.sort((a, b) => this.#ordinalOf(a) - this.#ordinalOf(b));
  }

  /** Infinite for a name. */
  #ordinalOf({ key, operation }: EffectState): number {
    const end = key.slice(this.#keyOf(operation, '').length);
    return ORDINAL.test(end) ? Number(end) : Number.POSITIVE_INFINITY;
  }

  /**
   * The key of the use: that of the record which it repeats, else a new one. Undefined while a recorded call that it may be repeating is
   * not repeated (U2). Throws `InvalidError` (`effect-key-too-long`, `effect-key-taken`).
   */
  claim(use: Use): EffectKey | undefined {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#wake();
    return this.#keyFor(use);
  }

  /** `placed`: records at the use's place, once they are known. */
  #keyFor(use: Use, placed?: readonly EffectState[]): EffectKey | undefined {
    const { operation, name } = use;
    if (name !== undefined) {
      const key = this.#named(use, name);
      return this.#operations.has(key) || this.#others(use).length === 0 ? this.#takeFor(use, key) : undefined;
    }
    const same = this.#unnamed(questionOf(use));
    // A call that certainly was not done is made again, so it is treated as new (U2).
    if (same !== undefined && (same.status !== 'failed' || this.#others(use).length === 0)) {
      return this.#take(same.key, operation);
    }
    if (same !== undefined || this.#others(use).length > 0) return undefined;
    return (placed ?? this.#inDoubt(use)).length === 0 ? this.fresh(operation) : undefined;
  }

  /** The key of the name; a further one where its record holds nobody to what it asked, and this use asks something else. */
  #named(use: Use, name: string): EffectKey {
    const base = String(name).replace(LIKE_ORDINAL, '=$&');
    for (let count = 0; ; count++) {
      const key = this.#keyOf(use.operation, count === 0 ? base : `${base}~${count}`);
      const known = this.#unclaimed.get(key);
      if (known === undefined || known.requestDigest === use.requestDigest) return key;
      const isOver = known.kind === 'pure' || (known.status === 'failed' && use.isInDoubt?.(known) !== true);
      if (!isOver) return key;
    }
  }

  /** As `#take`, for a use whose request may differ from the recorded one. */
  #takeFor({ operation, requestDigest }: Use, key: EffectKey): EffectKey {
    const known = this.#unclaimed.get(key);
    if (known !== undefined && known.requestDigest !== requestDigest) this.#changed.set(key, requestDigest);
    return this.#take(key, operation);
  }

  /** Whether a use that asks this is the one that the record of the key is about, though that asked something else (U3). */
  isToldApart(key: EffectKey, requestDigest: Sha256): boolean {
    return this.#changed.get(key) === requestDigest;
  }

  /** Whether no other call is made beside this one, as far as the code gives their order. */
  async isAlone(): Promise<boolean> {
    await this.#breath.ended();
    return this.#callingCount === 1;
  }

  /** From now on the attempt makes no call: it is stopped, whatever its step catches. */
  refuse<T extends Error>(refusal: T): T {
    this.#refusal ??= refusal;
    return refusal;
  }

  /** Outcomes that the fork's base recorded are handed over in their order too, except those that the fork has recorded itself. */
  expect(outcomes: () => Promise<readonly Pick<EffectState, 'key' | 'operation' | 'requestDigest'>[]>): Promise<void> {
    this.#expected ??= outcomes().then((found) => {
      const own = [...this.#own];
      const further = found.filter((one) => {
        const at = own.indexOf(questionOf(one));
        if (at !== -1) own.splice(at, 1);
        return at === -1;
      });
      this.order.expect(further.map(({ key }) => key));
    });
    return this.#expected;
  }

  #unnamed(question: string): EffectState | undefined {
    return this.#asked.get(question)?.find((one) => Number.isFinite(this.#ordinalOf(one)));
  }

  /**
   * As `claim`, once the key is known: a use that matches no record may stand in the place of one whose request was another (U3). Where the
   * code doesn't say so, it waits as long as other calls of the step begin, run or end, since each may lead to one that repeats what is
   * recorded. After `RECORD_CLAIM_PERIODS` in which none did, it gets the key of what was recorded and not asked for again.
   */
  async claimed(use: Use): Promise<EffectKey> {
    this.#unmatched.add(use);
    try {
      await this.#breath.ended();
      const calls: RecordedCalls = use.place === undefined ? new Map() : await this.#recordedCalls();
      // Once another one waited beside it, it is never certain again which record is whose.
      let isAlone = true;
      for (let quiet = 0; ; ) {
        isAlone &&= [...this.#unmatched].every((one) => one === use || one.operation !== use.operation);
        this.#signal.throwIfAborted();
        if (this.#refusal !== undefined) throw this.#refusal;
        if (this.#isClosed) throw new InvalidError('step-ended', `The step ended before its call of ${use.operation}.`);
        const known = [...this.#others(use), ...this.#inDoubt(use, calls)];
        const placed = known.filter(({ key }) => isSamePlace(calls.get(key)?.place, use.place));
        const isSure = isInOrder(use.place) && placed.every(({ key }) => isInOrder(calls.get(key)?.place));
        const isQuiet = quiet >= RECORD_CLAIM_PERIODS;
        const key = this.#keyFor(use, placed) ?? this.#instead(use, placed, { isAlone, isSure, isQuiet });
        if (key !== undefined) return key;
        const woken = new AbortController();
        this.#waiting.add(woken);
        await this.#clock.sleep(RECORD_CLAIM_PERIOD_MS, AbortSignal.any([this.#signal, woken.signal]));
        this.#waiting.delete(woken);
        quiet = woken.signal.aborted || this.#callingCount > 0 ? 0 : quiet + 1;
      }
    } finally {
      this.#unmatched.delete(use);
    }
  }

  /** The key of the record in whose place the use stands, or, once it is `quiet`, of one that nothing asks for again. */
  #instead(
    use: Use,
    placed: readonly EffectState[],
    { isAlone, isSure, isQuiet }: { readonly isAlone: boolean; readonly isSure: boolean; readonly isQuiet: boolean },
  ): EffectKey | undefined {
    const isOnly = isAlone && placed.length === 1;
    if (isOnly && (isSure || isQuiet)) return this.#takeFor(use, placed[0]!.key);
    const [other] = this.#others(use);
    if (other !== undefined) return isQuiet ? this.#take(other.key, use.operation) : undefined;
    // All that is recorded has failed, and which of it this use is can't be told.
    return isOnly ? undefined : this.fresh(use.operation);
  }

  /** The next key of the operation that is neither recorded nor claimed. */
  fresh(operation: string): EffectKey {
    for (let ordinal = this.#ordinals.get(operation) ?? 0; ; ordinal++) {
      const key = this.#keyOf(operation, ordinal);
      if (this.#operations.has(key)) continue;
      this.#ordinals.set(operation, ordinal + 1);
      return this.#take(key, operation);
    }
  }

  /**
   * Whether this attempt had a use already that can't be told from this one by all that is recorded, unless both have the same `secret`,
   * which is never recorded.
   */
  isAmbiguous(use: Use, secret?: Sha256): boolean {
    const asked = questionOf(use);
    const isFirst = !this.#secrets.has(asked);
    const isSame = secret !== undefined && this.#secrets.get(asked) === secret;
    this.#secrets.set(asked, secret);
    return !isFirst && !isSame;
  }

  /** Whether there are several records of what may be used once. */
  isDoubled(use: Use): boolean {
    return (this.#asked.get(questionOf(use)) ?? []).length > 1;
  }

  /**
   * Recorded calls that this attempt has not repeated yet, and that this use may be repeating. A use with another name is another call.
   */
  #others({ operation, name, requestDigest }: Use): readonly EffectState[] {
    if (this.#unclaimed.size === 0) return [];
    const called = [...this.#unclaimed.values()].filter(
      (one) => one.operation === operation && one.kind !== 'pure' && one.status !== 'failed',
    );
    const unnamed = called.filter((one) => Number.isFinite(this.#ordinalOf(one)));
    const same = (name === undefined ? called : unnamed).filter((one) => one.requestDigest === requestDigest);
    return same.length > 0 || name !== undefined ? same : unnamed;
  }

  /** Recorded calls without a name that failed, and may have been done all the same. */
  #inDoubt({ operation, isInDoubt }: Use, calls?: RecordedCalls): readonly EffectState[] {
    if (isInDoubt === undefined) return [];
    return [...this.#unclaimed.values()].filter(
      (one) =>
        one.operation === operation &&
        one.status === 'failed' &&
        Number.isFinite(this.#ordinalOf(one)) &&
        isInDoubt(one, calls?.get(one.key)),
    );
  }

  #take(key: EffectKey, operation: string): EffectKey {
    if (key.length > NAME_MAX_CHARS) throw keyTooLong(operation, key);
    if ((this.#operations.get(key) ?? operation) !== operation) throw keyTaken(operation, key);
    this.#operations.set(key, operation);
    const recorded = this.#unclaimed.get(key);
    if (recorded === undefined) return key;
    this.#unclaimed.delete(key);
    const same = this.#asked.get(questionOf(recorded))!;
    same.splice(same.indexOf(recorded), 1);
    return key;
  }

  /** Throws `InvalidError` (`call-name-taken`) when another closure of the attempt has this key: it would get that one's result. */
  nameOnce(key: EffectKey, name: string): void {
    if (this.#closures.has(key)) throw nameTaken(name, key);
    this.#closures.add(key);
  }

  failed(key: EffectKey): void {
    this.#closures.delete(key);
  }

  /** Runs one use of the key after the other. Two uses of a key are one effect: the second finds what the first recorded. */
  async inTurn(use: UseInTurn): Promise<Json> {
    const { key } = use;
    const before = this.#last.get(key);
    const answer = (): Promise<Json> => use.answer();
    const answering = before === undefined ? use.answer() : before.then(answer, answer);
    const using = this.order.inOrder(key, answering);
    this.#last.set(key, using);
    try {
      return await using;
    } finally {
      if (this.#last.get(key) === using) this.#last.delete(key);
      this.#breath.begin();
      this.#wake();
    }
  }

  /** As `inTurn`, for a use that ends in bounded time by itself: uses that wait for others wait for it, too. */
  async calling(use: UseInTurn): Promise<Json> {
    this.#callingCount++;
    try {
      return await this.inTurn(use);
    } finally {
      this.#callingCount--;
    }
  }

  #wake(): void {
    for (const waiting of this.#waiting) waiting.abort(WOKEN);
  }

  /** Registers an intention; the returned function must be called once it is decided whether the call is made. */
  intending(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#deciding.add(promise);
    return () => {
      this.#deciding.delete(promise);
      resolve();
    };
  }

  /** Resolves once every intention is decided and no use is running. A use that still waits is never made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.order.end();
    this.#wake();
    await Promise.all(this.#deciding);
    await Promise.allSettled(this.#last.values());
  }
}

const questionOf = ({ operation, requestDigest }: Pick<Use, 'operation' | 'requestDigest'>): string =>
  `${operation}\0${requestDigest}`;

const keyTooLong = (operation: string, key: EffectKey): InvalidError =>
  new InvalidError(
    'effect-key-too-long',
    `${operation}: its key has ${key.length} characters, at most ${NAME_MAX_CHARS} are allowed. Shorten the name of the call, or the workflow's id.`,
  );

const nameTaken = (name: string, key: EffectKey): InvalidError =>
  new InvalidError(
    'call-name-taken',
    `ctx.run('${name}'): another call of this step has the same name (${key}), and would have given this one its result. Give each call a name of its own: ctx.run('${name}', …, { name: id }).`,
    { key },
  );

/** A colon in both a name and an operation can make two keys one. */
const keyTaken = (operation: string, key: EffectKey): InvalidError =>
  new InvalidError(
    'effect-key-taken',
    `${operation}: its key ${key} is that of another operation in this step. Give the call another name.`,
    { operation, key },
  );
