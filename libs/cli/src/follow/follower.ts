/**
 * Owns telling what happens to workflows from their rows: hints say when to look, a period makes up for lost ones. Only rows
 * up to the position that a workflow's own row names are told, so nothing is skipped and each workflow's order is kept.
 * Without a baseline it begins with all that has been.
 */

import { checkpointsOf, type PendingTask, pendingTask } from '@tidemark/api/shapes';
import { type StreamStatus, UnavailableError, type WorkflowId, workflowId } from '@tidemark/core';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';
import {
  CROWD_MIN_COUNT,
  EVENTS_READ_MAX,
  FOLLOW_ALL_PERIOD_MS,
  FOLLOW_NEWEST_COUNT,
  FOLLOW_ONE_PERIOD_MS,
  FOLLOW_OPEN_MAX,
  FOLLOW_PATIENCE_MS,
  FOLLOW_PAUSE_MS,
  TASKS_SHOWN_COUNT,
} from '../limits.ts';
import type { Desk, News } from '../state/desk.ts';
import { taskWords } from '../views/frontier.ts';
import { countsOf, waitingUndo } from '../views/undo.ts';
import { type Change, type Crowd, checkpointChange, eventChange } from './change.ts';

/** What has been told of a workflow. */
interface Told {
  readonly position: number;
  readonly sequence: number;
  readonly atMs: number | undefined;
  readonly status: WorkflowSummary['status'];
  readonly waiting: string;
}

export interface FollowerOptions {
  /** Follows this one only; otherwise all. */
  readonly workflow?: string | undefined;
  /** Large numbers are told as a number. */
  readonly crowds?: boolean;
  readonly nowMs?: () => number;
}

/** Of workflows that may move by themselves. */
const LIVE: readonly StreamStatus[] = ['open', 'compensating'];

export class Follower {
  readonly #options: FollowerOptions;
  readonly #told = new Map<WorkflowId, Told>();
  #wake: (() => void) | undefined;
  #hinted = false;
  #gone = false;
  /** The undo that was told to wait for a person, and its position. */
  #toldUndo = '';

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** To be told of news; whoever holds the follower subscribes it. */
  news(news: News): void {
    if (news.type === 'gone') this.#gone = true;
    if (news.type !== 'applied' && news.type !== 'gone') return;
    this.#hinted = true;
    this.#wake?.();
  }

  /** Takes what there is as told; returns it. */
  async baseline(desk: Desk): Promise<readonly WorkflowSummary[]> {
    const rows = await this.#rows(desk);
    for (const row of rows) this.#told.set(row.workflow, toldOf(row, row.updatedAtMs));
    return rows;
  }

  /**
   * Changes as they come, until the signal aborts. Throws `UnavailableError` when rows stay away, or their holder is gone;
   * goes on where it was with another desk.
   */
  async *changes(desk: Desk, signal: AbortSignal): AsyncGenerator<Change | Crowd> {
    let awaySinceMs: number | undefined;
    this.#gone = false;
    while (!signal.aborted) {
      this.#hinted = false;
      try {
        yield* await this.#look(desk);
        awaySinceMs = undefined;
      } catch (error) {
        if (!(error instanceof UnavailableError) || this.#gone) throw error;
        awaySinceMs ??= performance.now();
        if (performance.now() - awaySinceMs > FOLLOW_PATIENCE_MS) throw error;
      }
      await this.#pause(FOLLOW_PAUSE_MS, signal);
      if (!this.#hinted) await this.#sleepUntilHinted(signal);
    }
  }

  async #sleepUntilHinted(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const periodMs = this.#options.workflow === undefined ? FOLLOW_ALL_PERIOD_MS : FOLLOW_ONE_PERIOD_MS;
    const slept = new AbortController();
    await Promise.race([promise, this.#pause(periodMs, AbortSignal.any([signal, slept.signal]))]);
    slept.abort();
    this.#wake = undefined;
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
    });
  }

  async #rows(desk: Desk): Promise<readonly WorkflowSummary[]> {
    const { workflow } = this.#options;
    if (workflow !== undefined) {
      const row = await desk.reads.workflow(workflowId(workflow));
      return row === undefined ? [] : [row];
    }
    const found = new Map<WorkflowId, WorkflowSummary>();
    for (const row of await desk.reads.workflows({ limit: FOLLOW_NEWEST_COUNT })) found.set(row.workflow, row);
    for (const status of LIVE) {
      for (const row of await desk.reads.workflows({ status, limit: FOLLOW_OPEN_MAX })) found.set(row.workflow, row);
    }
    // Those that were open and no longer are, and have left the newest.
    for (const [id, told] of this.#told) {
      if (!LIVE.includes(told.status) || found.has(id)) continue;
      const row = await desk.reads.workflow(id);
      if (row !== undefined) found.set(id, row);
      else this.#told.delete(id);
    }
    return [...found.values()];
  }

  async #look(desk: Desk): Promise<readonly (Change | Crowd)[]> {
    const rows = await this.#rows(desk);
    const moved = rows
      .filter((row) => row.position > (this.#told.get(row.workflow)?.position ?? 0))
      .sort((a, b) => a.updatedAtMs - b.updatedAtMs);
    if (this.#options.crowds === true && moved.length >= CROWD_MIN_COUNT) return [this.#crowd(moved)];
    const changes: Change[] = [];
    for (const row of moved) changes.push(...(await this.#changesOf(desk, row)));
    changes.push(...(await this.#undoParked(desk, rows)));
    return changes;
  }

  /** Of the one that is followed: it stands still as long as its undo waits for a person. Told once for each question. */
  async #undoParked(desk: Desk, [row]: readonly WorkflowSummary[]): Promise<readonly Change[]> {
    if (this.#options.workflow === undefined || row?.status !== 'compensating') return [];
    const waits = await waitingUndo(desk.reads, row);
    const told = waits === undefined ? '' : `${waits.workflow} ${waits.position}`;
    if (told === this.#toldUndo) return [];
    this.#toldUndo = told;
    if (waits === undefined) return [];
    const { workflow, definition } = row;
    const { updatedAtMs: atMs, reason } = waits;
    return [{ type: 'undo_parked', workflow, definition, atMs, undo: waits.workflow, reason: reason ?? '' }];
  }

  #crowd(moved: readonly WorkflowSummary[]): Crowd {
    let checkpointCount = 0;
    let completedCount = 0;
    for (const row of moved) {
      const told = this.#told.get(row.workflow);
      checkpointCount += row.sequence - (told?.sequence ?? 0);
      if (row.status === 'completed' && told?.status !== 'completed') completedCount++;
      this.#told.set(row.workflow, toldOf(row, undefined));
    }
    const atMs = Math.max(...moved.map((row) => row.updatedAtMs));
    return { type: 'crowd', atMs, workflowCount: moved.length, checkpointCount, completedCount };
  }

  async #changesOf(desk: Desk, row: WorkflowSummary): Promise<readonly Change[]> {
    const told = this.#told.get(row.workflow);
    const placed: (readonly [position: number, change: Change])[] = [];
    if (told === undefined) placed.push([1, startedChange(row)]);
    let beforeMs = told === undefined ? row.openedAtMs : told.atMs;
    const from = (told?.sequence ?? 0) + 1;
    const isCrowd = this.#options.crowds === true && row.sequence - from >= CROWD_MIN_COUNT;
    // Of a crowd only the last one is read, for its time and place.
    for await (const checkpoint of checkpointsOf(
      desk.reads,
      row.workflow,
      isCrowd ? row.sequence : from,
      row.sequence,
    )) {
      if (isCrowd) placed.push([checkpoint.position, checkpointsChange(row, checkpoint, from)]);
      else placed.push([checkpoint.position, checkpointChange(row, checkpoint, beforeMs)]);
      beforeMs = checkpoint.atMs;
    }
    for (const event of await desk.reads.events(row.workflow, EVENTS_READ_MAX)) {
      if (event.position <= (told?.position ?? 0) || event.position > row.position) continue;
      const change = eventChange(row, event);
      if (change?.type === 'compensated') {
        placed.push([event.position, { ...change, counts: (await countsOf(desk.reads, row)) ?? null }]);
      } else if (change !== undefined) placed.push([event.position, change]);
    }
    const changes = placed.sort(([a], [b]) => a - b).map(([, change]) => change);
    const tasks = await this.#waitingTasks(desk, row);
    const waiting = tasks.join('; ');
    if (waiting !== '' && waiting !== told?.waiting) changes.push(waitingChange(row, tasks));
    this.#told.set(row.workflow, { ...toldOf(row, beforeMs), waiting });
    return changes;
  }

  /** What an idle workflow's first tasks wait for; empty when it isn't idle, or only waits for the next attempt. */
  async #waitingTasks(desk: Desk, row: WorkflowSummary): Promise<readonly string[]> {
    if (row.status !== 'open' || row.holder !== null || row.runnable || row.pendingCount === 0) return [];
    const tasks = (await desk.reads.tasks(row.workflow, TASKS_SHOWN_COUNT)).map(pendingTask);
    const waits = tasks.filter(({ blocked }) => blocked.some(({ on }) => on === 'signal' || on === 'timer'));
    const steps = new Map(tasks.map(({ state }) => [state.id, state.step]));
    const nowMs = (this.#options.nowMs ?? Date.now)();
    return waits.map((task: PendingTask) => `${task.state.id} ${task.state.step}: ${taskWords(task, steps, nowMs)}`);
  }
}

function toldOf(row: WorkflowSummary, atMs: number | undefined): Told {
  return { position: row.position, sequence: row.sequence, atMs, status: row.status, waiting: '' };
}

const startedChange = ({ workflow, definition, version, openedAtMs }: WorkflowSummary): Change => ({
  type: 'started',
  workflow,
  definition,
  version,
  atMs: openedAtMs,
});

const checkpointsChange = (
  { workflow, definition, sequence }: WorkflowSummary,
  { atMs, lastAction }: CheckpointRow,
  from: number,
): Change => ({ type: 'checkpoints', workflow, definition, atMs, from, to: sequence, lastAction });

const waitingChange = ({ workflow, definition, updatedAtMs }: WorkflowSummary, tasks: readonly string[]): Change => ({
  type: 'waiting',
  workflow,
  definition,
  atMs: updatedAtMs,
  tasks,
});
