/**
 * Owns which recorded outcome of the base answers an effect of a fork that replays, or of a reset that keeps what was done. That is the record at the same place in the history if it
 * has the same request, else the first unused record with the same request, in the order of recording. The fork's own intention records the
 * choice, so that it stays the same for every later holder. It never calls an effect, and never writes.
 *
 * R1 Only records of tasks that were pending at the checkpoint, or added later, count.
 * R2 A record answers one effect of the fork, and no other.
 * R3 In a reset only what was done, or may have been, answers, and nothing that was discarded or undone; where the base is a reset itself, what
 *    its own base recorded and it had not come to answers as well.
 * R4 A call whose request is recorded nowhere may be one whose request has changed: the record that stands for it is the only one that was
 *    made in its place.
 */

import { decodePayload, type ForkOrigin, type Payloads } from '@tidemark/codec';
import { CorruptError, type EffectKey, type Fork, type Json, type TaskId, type WorkflowId } from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import { type JournalEntry, journalEntry } from './content.ts';
import { ForkTaskMap, type PlaceReads } from './fork-task-map.ts';

export interface ReplayReads extends PlaceReads {
  /** Effects of the base, of one task or of all, as its rows have them now. */
  readonly base: (task?: TaskId) => Promise<readonly EffectRow[]>;
  /** All effects that the fork itself has recorded. */
  readonly own: () => Promise<readonly EffectRow[]>;
  /** Whether the undo of the base left a record as it was, so that a person must be asked about it; absent: nothing was undone. */
  readonly left?: (() => Promise<(row: EffectRow) => boolean>) | undefined;
  /** Of the base of a base that is a reset too; absent: there is none. */
  readonly before?: (() => Promise<Replay | undefined>) | undefined;
  /** Records that answered the base already, and keys under which it called again; absent: the base is the reset's own. */
  readonly spent?: ReadonlySet<EffectKey> | undefined;
}

/** An effect of the fork that needs an outcome. */
export type ReplayedCall = Pick<EffectRow, 'task' | 'key' | 'operation' | 'requestDigest'>;

export interface Recorded {
  /** The effect's key in the base. */
  readonly key: EffectKey;
  readonly outcome: JournalEntry;
  /** Its request is another than that of the call (R4). */
  readonly isChanged?: true;
}

/** The tasks of a fork's origin, by index; undefined: it has no counterpart. */
export type ReplayOrigin = Pick<ForkOrigin, 'isChanged' | 'shares' | 'reset'> & {
  readonly tasks: readonly { readonly task: TaskId | undefined }[];
};

/** A record without its payload. */
type Known = Pick<EffectRow, 'key' | 'task'>;

const questionOf = ({ operation, requestDigest }: Pick<EffectRow, 'operation' | 'requestDigest'>): string =>
  `${operation}\0${requestDigest}`;

const isResolved = ({ status }: EffectRow): boolean => status === 'done' || status === 'failed';

export class Replay {
  readonly base: Fork;
  readonly #own: WorkflowId;
  readonly #origin: ReplayOrigin;
  readonly #reads: ReplayReads;
  readonly #pending: ReadonlySet<TaskId | undefined>;
  readonly #discarded: ReadonlySet<EffectKey>;
  /** Records that answer nothing (any more). */
  readonly #spent: Set<EffectKey>;
  #before: Promise<Replay | undefined> | undefined;
  /** Keys under which calls are made again in place of discarded records, by the fork's key. */
  readonly #sends = new Map<EffectKey, EffectKey>();
  readonly #places: ForkTaskMap;
  /** The record that answers an effect, by the fork's key, once it is chosen. */
  #answered: Promise<Map<EffectKey, EffectKey>> | undefined;
  /** Tasks of records, for records that may be anywhere in the base. */
  readonly #tasks = new Map<EffectKey, TaskId>();
  /** The base's records by request, in the order of recording. */
  #questions: Promise<ReadonlyMap<string, readonly Known[]>> | undefined;

  constructor(own: WorkflowId, base: Fork, origin: ReplayOrigin, reads: ReplayReads) {
    this.base = base;
    this.#discarded = new Set(origin.reset?.discarded.map(({ key }) => key));
    this.#spent = new Set(reads.spent);
    this.#own = own;
    this.#origin = origin;
    this.#reads = reads;
    this.#pending = new Set(origin.tasks.map(({ task }) => task));
    this.#places = new ForkTaskMap(own, origin, reads);
  }

  /**
   * A closure's recorded result, as long as the fork changed nothing. Otherwise the closure runs, which is safe because it changes nothing
   * outside.
   */
  async closure(asked: ReplayedCall): Promise<{ readonly key: EffectKey; readonly response: Json } | undefined> {
    const isFresh = this.#origin.isChanged || this.base.effects === 'live';
    const there = isFresh ? undefined : await this.#places.taskOf(asked.task);
    if (there === undefined) return undefined;
    const equal = (await this.#reads.base(there)).filter((one) => questionOf(one) === questionOf(asked));
    // One that failed says that the base could not tell its closures apart.
    if (equal.some(({ status }) => status !== 'done')) return undefined;
    const row = equal.find(({ key }) => key === this.#sameKey(asked.task, asked.key, there)) ?? equal[0];
    const outcome = row && journalEntry(row.status, row.payload);
    return outcome?.status === 'done' ? { key: row!.key, response: outcome.response } : undefined;
  }

  /** What the base recorded of the task's calls and may answer them, in the order of the outcomes. */
  async outcomes(task: TaskId): Promise<readonly Pick<EffectRow, 'key' | 'operation' | 'requestDigest'>[]> {
    const there = await this.#places.taskOf(task);
    if (there === undefined) return [];
    const rows = (await this.#counted(there)).filter((row) => isResolved(row) && this.#answers(row));
    return rows.toSorted((a, b) => a.position - b.position);
  }

  /** R3. */
  #counts(row: EffectRow): boolean {
    if (this.base.effects === 'replay') return isResolved(row);
    return row.status !== 'failed' && !this.#discarded.has(row.key);
  }

  async #counted(task?: TaskId): Promise<readonly EffectRow[]> {
    const isLeft = await this.#reads.left?.();
    return (await this.#reads.base(task)).filter((row) => this.#counts(row) && (isLeft === undefined || isLeft(row)));
  }

  /** Closures have no intention. Those of a fork that changed something run again, as those do that could not be told apart. */
  #answers({ request, status }: EffectRow): boolean {
    return request !== null || (status === 'done' && !this.#origin.isChanged);
  }

  /** Undefined: the base has no (further) record that answers it. */
  async find(asked: ReplayedCall): Promise<Recorded | undefined> {
    this.#answered ??= this.#load();
    const answered = await this.#answered;
    const chosen = answered.get(asked.key);
    const isOwn = chosen?.startsWith(`${this.base.workflow}:`) ?? true;
    const key = isOwn ? (chosen ?? (await this.#choose(asked, answered))) : undefined;
    if (key === undefined) return (await this.#earlier())?.find(asked);
    const task = this.#tasks.get(key) ?? (await this.#places.taskOf(asked.task));
    const row = (await this.#reads.base(task)).find((one) => one.key === key) ?? (await this.#anywhere(key));
    return { key, outcome: journalEntry(row.status, row.status === 'intended' ? row.request! : row.payload) };
  }

  /** As `find`, where that finds nothing (R4). `isThere`: whether a record of the same key or of another one was made in the call's place. */
  async findChanged(
    asked: ReplayedCall,
    isThere: (isSameKey: boolean, intended: Payloads['EffectIntended']) => boolean,
  ): Promise<Recorded | undefined> {
    this.#answered ??= this.#load();
    const answered = await this.#answered;
    // With another belief or input it asks what it was forked to ask.
    const there = this.#origin.isChanged ? undefined : await this.#places.taskOf(asked.task);
    if (there === undefined) return undefined;
    const same = this.#sameKey(asked.task, asked.key, there);
    const [row, ...others] = (await this.#counted(there)).filter(
      ({ key, operation, request }) =>
        operation === asked.operation &&
        request !== null &&
        isThere(key === same, decodePayload('EffectIntended', request)),
    );
    if (row === undefined || others.length > 0) return undefined;
    if (this.#spent.has(row.key) || [...answered.values()].includes(row.key)) return undefined;
    answered.set(asked.key, row.key);
    const payload = row.status === 'intended' ? row.request! : row.payload;
    return { key: row.key, outcome: journalEntry(row.status, payload), isChanged: true };
  }

  /** Whether the fork's own record of the effect names one of these, so that a person was asked about it. */
  async isNamed(key: EffectKey): Promise<boolean> {
    this.#answered ??= this.#load();
    return (await this.#answered).has(key);
  }

  /** The effect is called after all: what stood for it answers no other. */
  async settled(key: EffectKey): Promise<void> {
    this.#answered ??= this.#load();
    const answered = await this.#answered;
    const record = answered.get(key);
    if (record !== undefined) this.#spent.add(record);
    answered.delete(key);
    await (await this.#before)?.settled(key);
  }

  /** The key under which the call is made again, in place of a record that was discarded, here or by a reset before; undefined: its own. */
  async sends(asked: ReplayedCall): Promise<EffectKey | undefined> {
    this.#answered ??= this.#load();
    await this.#answered;
    const sends =
      this.#sends.get(asked.key) ?? (await this.#discardedFor(asked)) ?? (await (await this.#earlier())?.sends(asked));
    if (sends !== undefined) this.#sends.set(asked.key, sends);
    return sends;
  }

  #earlier(): Promise<Replay | undefined> {
    this.#before ??= this.#reads.before?.() ?? Promise.resolve(undefined);
    return this.#before;
  }

  async #discardedFor(asked: ReplayedCall): Promise<EffectKey | undefined> {
    const again = this.#origin.reset?.discarded.filter(({ sends }) => sends !== undefined) ?? [];
    if (again.length === 0) return undefined;
    const rows = await this.#reads.base();
    const taken = new Set([...this.#sends.values(), ...this.#spent]);
    return again.find(({ key, sends }) => {
      const row = rows.find((one) => one.key === key);
      return !taken.has(sends!) && row !== undefined && questionOf(row) === questionOf(asked);
    })?.sends;
  }

  async #load(): Promise<Map<EffectKey, EffectKey>> {
    const answered = new Map<EffectKey, EffectKey>();
    for (const { key, request } of await this.#reads.own()) {
      const { replays, sends } = request === null ? {} : decodePayload('EffectIntended', request);
      if (replays !== undefined) answered.set(key, replays);
      if (sends !== undefined) this.#sends.set(key, sends);
    }
    return answered;
  }

  /** Chooses a record in the same turn in which it finds it unused (R2). */
  async #choose(asked: ReplayedCall, answered: Map<EffectKey, EffectKey>): Promise<EffectKey | undefined> {
    const there = await this.#places.taskOf(asked.task);
    const same = there && this.#sameKey(asked.task, asked.key, there);
    const rows = there === undefined ? [] : await this.#counted(there);
    const fits = rows.some((row) => row.key === same && questionOf(row) === questionOf(asked));
    const take = (known: readonly EffectKey[]): EffectKey | undefined => {
      const taken = new Set([...answered.values(), ...this.#spent]);
      const free = known.find((key) => !taken.has(key));
      if (free !== undefined) answered.set(asked.key, free);
      return free;
    };
    if (fits && take([same!]) !== undefined) return same;
    this.#questions ??= this.#index();
    const found = take(await this.#equal(asked));
    if (found !== undefined) return found;
    // The base may have recorded more.
    this.#questions = this.#index();
    return take(await this.#equal(asked));
  }

  async #equal(asked: ReplayedCall): Promise<readonly EffectKey[]> {
    return ((await this.#questions!).get(questionOf(asked)) ?? []).map(({ key }) => key);
  }

  async #index(): Promise<ReadonlyMap<string, readonly Known[]>> {
    const { position: at } = this.#origin.shares[0]!;
    const questions = new Map<string, Known[]>();
    for (const row of await this.#counted()) {
      // R1: a record after the checkpoint always belongs to a task that was pending there or was added later.
      if (row.position <= at && !this.#pending.has(row.task)) continue;
      const known = questions.get(questionOf(row));
      this.#tasks.set(row.key, row.task);
      if (known === undefined) questions.set(questionOf(row), [row].map(light));
      else known.push(light(row));
    }
    return questions;
  }

  /** A record that an earlier holder chose. */
  async #anywhere(key: EffectKey): Promise<EffectRow> {
    const row = (await this.#reads.base()).find((one) => one.key === key);
    if (row !== undefined) return row;
    throw new CorruptError(
      'record-missing',
      `Workflow ${this.#own} replays effect ${key} of ${this.base.workflow}, which is no longer in its history.`,
      { workflow: this.#own, key },
    );
  }

  #sameKey(task: TaskId, key: EffectKey, there: TaskId): EffectKey {
    return `${this.base.workflow}:${there}:${key.slice(`${this.#own}:${task}:`.length)}` as EffectKey;
  }
}

const light = ({ key, task }: EffectRow): Known => ({ key, task });
