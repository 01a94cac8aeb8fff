/**
 * Owns which recorded outcome of its base answers an effect of a fork that replays: the one at the same place in the history, where
 * that asked the same; else the first of those that asked the same and answer nothing yet, in the order in which they were recorded.
 * Which one it is stands in the fork's own intention, so that it stays the same whoever goes on. Must not call anything, nor write.
 *
 * R1 Only what the base recorded of tasks that were yet to be done at the checkpoint counts.
 * R2 A record answers one effect of the fork, and no other.
 */

import { decodePayload, type ForkOrigin } from '@tidemark/codec';
import {
  CorruptError,
  type EffectKey,
  type Fork,
  type Json,
  type Sha256,
  type TaskId,
  type WorkflowId,
} from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import { type JournalEntry, journalEntry } from './content.ts';
import { ForkTaskMap, type PlaceReads } from './fork-task-map.ts';

export interface ReplayReads extends PlaceReads {
  /** Effects of the base, of one task or of all; as its rows have them now. */
  readonly base: (task?: TaskId) => Promise<readonly EffectRow[]>;
  /** All that the fork itself has recorded. */
  readonly own: () => Promise<readonly EffectRow[]>;
}

/** What an effect of the fork asks. */
export interface Asked {
  readonly task: TaskId;
  readonly key: EffectKey;
  readonly operation: string;
  readonly requestDigest: Sha256;
}

export interface Recorded {
  /** In the base. */
  readonly key: EffectKey;
  readonly outcome: JournalEntry & { readonly status: 'done' | 'failed' };
}

/** What is known of a record without its payload. */
type Known = Pick<EffectRow, 'key' | 'task'>;

const questionOf = ({ operation, requestDigest }: Pick<EffectRow, 'operation' | 'requestDigest'>): string =>
  `${operation}\0${requestDigest}`;

const isResolved = ({ status }: EffectRow): boolean => status === 'done' || status === 'failed';

export class Replay {
  readonly base: Fork;
  readonly #own: WorkflowId;
  readonly #origin: ForkOrigin;
  readonly #reads: ReplayReads;
  readonly #pending: ReadonlySet<TaskId>;
  readonly #places: ForkTaskMap;
  /** By the fork's key: the record that answers it, once that is decided. */
  #answered: Promise<Map<EffectKey, EffectKey>> | undefined;
  /** The tasks of records that were found anywhere in the base. */
  readonly #tasks = new Map<EffectKey, TaskId>();
  /** What the base was asked, with the records that answer it, by the order of recording. */
  #questions: Promise<ReadonlyMap<string, readonly Known[]>> | undefined;

  constructor(own: WorkflowId, base: Fork, origin: ForkOrigin, reads: ReplayReads) {
    this.base = base;
    this.#own = own;
    this.#origin = origin;
    this.#reads = reads;
    this.#pending = new Set(origin.tasks.map(({ task }) => task));
    this.#places = new ForkTaskMap(own, origin, reads);
  }

  /** What a closure gave at the same place, while nothing is other than it was there; else it is run, as it changes nothing outside. */
  async closure(task: TaskId, key: EffectKey): Promise<{ readonly response: Json } | undefined> {
    const there = this.#origin.isChanged ? undefined : await this.#places.taskOf(task);
    if (there === undefined) return undefined;
    const same = this.#sameKey(task, key, there);
    const row = (await this.#reads.base(there)).find((one) => one.key === same && one.status === 'done');
    const outcome = row && journalEntry(row.status, row.payload);
    return outcome?.status === 'done' ? outcome : undefined;
  }

  /** Undefined: the base recorded nothing (more) that answers it. */
  async find(asked: Asked): Promise<Recorded | undefined> {
    this.#answered ??= this.#load();
    const answered = await this.#answered;
    const key = answered.get(asked.key) ?? (await this.#choose(asked, answered));
    if (key === undefined) return undefined;
    const task = this.#tasks.get(key) ?? (await this.#places.taskOf(asked.task));
    const row = (await this.#reads.base(task)).find((one) => one.key === key) ?? (await this.#anywhere(key));
    return { key, outcome: journalEntry(row.status, row.payload) as Recorded['outcome'] };
  }

  async #load(): Promise<Map<EffectKey, EffectKey>> {
    const answered = new Map<EffectKey, EffectKey>();
    for (const { key, request } of await this.#reads.own()) {
      const { replays } = request === null ? {} : decodePayload('EffectIntended', request);
      if (replays !== undefined) answered.set(key, replays);
    }
    return answered;
  }

  /** Takes it in the same turn in which it is found free (R2). */
  async #choose(asked: Asked, answered: Map<EffectKey, EffectKey>): Promise<EffectKey | undefined> {
    const there = await this.#places.taskOf(asked.task);
    const same = there && this.#sameKey(asked.task, asked.key, there);
    const rows = there === undefined ? [] : await this.#reads.base(there);
    const fits = rows.some((row) => row.key === same && isResolved(row) && questionOf(row) === questionOf(asked));
    const take = (known: readonly EffectKey[]): EffectKey | undefined => {
      const taken = new Set(answered.values());
      const free = known.find((key) => !taken.has(key));
      if (free !== undefined) answered.set(asked.key, free);
      return free;
    };
    if (fits && take([same!]) !== undefined) return same;
    this.#questions ??= this.#index();
    const found = take(await this.#equal(asked));
    if (found !== undefined) return found;
    // The base may have gone on.
    this.#questions = this.#index();
    return take(await this.#equal(asked));
  }

  async #equal(asked: Asked): Promise<readonly EffectKey[]> {
    return ((await this.#questions!).get(questionOf(asked)) ?? []).map(({ key }) => key);
  }

  async #index(): Promise<ReadonlyMap<string, readonly Known[]>> {
    const { position: at } = this.#origin.shares[0]!;
    const questions = new Map<string, Known[]>();
    for (const row of await this.#reads.base()) {
      // R1: whatever came after the checkpoint is of a task that was pending there or was added later.
      if (!isResolved(row) || (row.position <= at && !this.#pending.has(row.task))) continue;
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
