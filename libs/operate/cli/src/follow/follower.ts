/**
 * Owns reporting what happens to workflows from the streams of the API: for one workflow its accepted events, each once and in order, over
 * as many connections and places as it takes; for all of them first which have moved, then their events.
 */

import {
  type Client,
  type Event,
  type EventOf,
  type Run,
  TidemarkApiError,
  type Workflow,
  type WorkflowView,
} from '@tidemark/client';
import { Timeline } from '@tidemark/core/timeline';
import { RETRY_PAUSE_MS, TASKS_SHOWN_COUNT } from '../limits.ts';
import { count, counted } from '../text/units.ts';
import { taskWords } from '../views/frontier.ts';
import { type Change, changeOf, isEnd, withCounts } from './change.ts';
import { Gathered } from './gathered.ts';
import type { Said } from './spoken.ts';

/** Open workflows, and newest of any status, that are followed at once. */
const FOLLOW_OPEN_MAX = 1_000;
const FOLLOW_NEWEST_COUNT = 200;
/** Milliseconds within which changes are reported together. */
const FOLLOW_GATHER_MS = 50;
/** Period at which all workflows are listed again while nothing comes, in milliseconds. */
const FOLLOW_PERIOD_MS = 2_000;
/** Workflows whose reported state is remembered, before all are listed again and those that ended long ago are forgotten. */
const FOLLOW_REPORTED_MAX_COUNT = 10_000;
/** Attempts to read what happened to one of many workflows, before the others are reported. */
const FOLLOW_TRIES_MAX_COUNT = 3;
/** Poll interval for an undo that waits for a person, in milliseconds. */
const UNDO_POLL_MS = 500;
/** Moved workflows, or checkpoints of one, in one read, from which on people see their number instead. */
export const CROWD_MIN_COUNT = 25;

export interface FollowOptions {
  readonly client: Client;
  /** Ends it silently. */
  readonly signal: AbortSignal;
  /** Called for every lost connection; what it throws ends the following, else it reconnects. */
  readonly onLost?: ((error: unknown) => void) | undefined;
  /** Many changes are reported as a number. */
  readonly crowds?: boolean | undefined;
  /** What models answer, and the progress of steps: for one followed workflow. */
  readonly onSaid?: ((said: Said) => void) | undefined;
}

/** No run lasts longer than this, in milliseconds. */
const FOREVER_MS = 2 ** 31 - 1;

/** One followed workflow: what was reported of it, and what is yet to be. It outlives the place at which it is followed. */
export class Followed {
  readonly #row: Workflow;
  readonly #timeline: Timeline;
  #waits = '';
  sequence: number;
  /** Turned into changes, and not yet reported. */
  readonly pending: Change[] = [];

  /** `isNew`: nothing of it was reported yet. */
  constructor(row: Workflow, isNew: boolean) {
    this.#row = row;
    this.#timeline = new Timeline(isNew ? 0 : row.position);
    this.sequence = isNew ? 0 : row.sequence_number;
  }

  get position(): number {
    return this.#timeline.position;
  }

  add(events: readonly Event[], crowds = false): void {
    const from = this.sequence + 1;
    const all = events.flatMap((event) => this.#changes(event));
    const checkpoints = all.filter((change) => change.type === 'checkpoint');
    const last = checkpoints.at(-1);
    if (!crowds || checkpoints.length < CROWD_MIN_COUNT || last === undefined) {
      this.pending.push(...all);
      return;
    }
    const to = this.sequence;
    const action = last.facts.last_action ?? '';
    const description = { title: `#${from}–#${to}`, tone: 'good', words: String(action) } as const;
    const crowd: Change = {
      ...{ ...last, type: 'checkpoints', facts: { from, to, last_action: action } },
      description: { ...description, detail: `${counted(to - from + 1, 'checkpoint')}, the last` },
    };
    this.pending.push(
      ...all.flatMap((change) => (change.type !== 'checkpoint' ? [change] : change === last ? [crowd] : [])),
    );
  }

  /** What its first tasks wait for, where no task can run and that wasn't reported. */
  waiting(view: WorkflowView): readonly Change[] {
    const waits = waitsOf(view);
    const tasks = waits.map(({ words }) => words);
    const words = tasks.join('; ');
    if (words === '' || words === this.#waits) return [];
    this.#waits = words;
    const { workflow, definition, updated_at: at } = view;
    const description = { title: 'waiting', tone: 'warn', detail: words } as const;
    const approvals = waits.flatMap(({ task, asks }) => (asks ? [task] : []));
    return [{ type: 'waiting', at, workflow, definition, facts: { tasks, approvals }, description }];
  }

  #changes(event: Event): readonly Change[] {
    return (this.#timeline.take(event) ?? []).flatMap((entry) => {
      if (entry.kind === 'checkpoint') this.sequence = entry.sequence;
      return changeOf(this.#row, event, entry) ?? [];
    });
  }
}

/**
 * Yields what happens to one workflow from where it was followed to, until it has ended. Waits for an unreachable server. Throws
 * `TidemarkApiError` for what no retry helps, and what `onLost` throws.
 */
export async function* followOne(
  id: string,
  followed: Followed,
  { client, signal: asked, onLost, onSaid, crowds }: FollowOptions,
): AsyncGenerator<Change> {
  const run = client.run(id);
  const left = new AbortController();
  const signal = AbortSignal.any([asked, left.signal]);
  const fetchView = (): Promise<WorkflowView | undefined> =>
    patiently(signal, onLost, () => run.get({ content: false, signal }));
  const gathered = new Gathered(eventsOf(run, followed.position + 1, { signal, onLost }));
  if (onSaid !== undefined) void hear(run, followed.position, onSaid, signal);
  let undoReported = '';
  const first = await fetchView();
  let wasCompensating = first?.status === 'compensating';
  // Nothing may happen until somebody acts.
  if (first?.position === followed.position) followed.pending.push(...followed.waiting(first));
  try {
    while (!signal.aborted) {
      for (let change = followed.pending.shift(); change !== undefined; change = followed.pending.shift()) {
        // A reader of an end then asks for the output.
        const view = isEnd(change) ? await viewFrom(fetchView, followed.position) : undefined;
        yield withCounts(change, view?.undo);
      }
      const waitMs = wasCompensating ? UNDO_POLL_MS : FOREVER_MS;
      const events = await gathered.take({ waitMs, gatherMs: FOLLOW_GATHER_MS });
      if (events === undefined) return;
      followed.add(events, crowds);
      wasCompensating = isCompensating(events) ?? wasCompensating;
      if (events.at(-1)?.type === 'LeaseReleased') {
        const view = await viewFrom(fetchView, followed.position);
        if (view !== undefined) followed.pending.push(...followed.waiting(view));
      }
      if (!wasCompensating) continue;
      // Events of the undo belong to another workflow.
      const view = await fetchView();
      const waits = view?.undo?.waiting_workflow ?? '';
      if (view !== undefined && waits !== '' && waits !== undoReported) {
        const undo = await patiently(signal, onLost, () => client.run(waits).get({ content: false, signal }));
        const { workflow, definition } = view;
        const at = undo?.updated_at ?? view.updated_at;
        const reason = undo?.reason ?? '';
        followed.pending.push({
          ...{ type: 'undo_parked', at, workflow, definition, facts: { undo: waits, reason } },
          description: {
            ...{ title: 'waits for a person before it is compensated further', tone: 'warn' },
            words: `${waits} (${reason})`,
          },
        });
      }
      undoReported = waits;
    }
  } finally {
    left.abort();
  }
}

/** Retries while nobody answers. Undefined: the signal aborted first. Throws what `onLost` throws, and what no retry helps. */
export async function patiently<T>(
  signal: AbortSignal,
  onLost: FollowOptions['onLost'],
  ask: () => Promise<T>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof TidemarkApiError) || !error.canRetry) throw error;
      onLost?.(error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
    }
  }
  return undefined;
}

async function* eventsOf(run: Run, from: number, how: Pick<FollowOptions, 'signal' | 'onLost'>): AsyncGenerator<Event> {
  for await (const { data } of run.events({ from, ...how })) yield data;
}

/** Without the right to content nothing is heard; a lost connection is the follower's to report. */
async function hear(run: Run, position: number, onSaid: (said: Said) => void, signal: AbortSignal): Promise<void> {
  try {
    for await (const said of run.stream({ from: `${position}.0.0`, signal })) onSaid(said);
  } catch (error) {
    if (!(error instanceof TidemarkApiError)) throw error;
  }
}

/** Undefined: they don't say. */
function isCompensating(events: readonly Event[]): boolean | undefined {
  const last = events.findLast(({ type }) => type === 'CompensationStarted' || type === 'CompensationFinished');
  return last === undefined ? undefined : last.type === 'CompensationStarted';
}

/** Rows come after the log: waits until they have this position. Undefined: it was aborted first. */
async function viewFrom(
  fetchView: () => Promise<WorkflowView | undefined>,
  position: number,
): Promise<WorkflowView | undefined> {
  for (;;) {
    const view = await fetchView();
    if (view === undefined || view.position >= position) return view;
    await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
  }
}

interface Wait {
  readonly task: string;
  readonly words: string;
  /** A person must answer first. */
  readonly asks: boolean;
}

const WAITS: readonly string[] = ['signal', 'timer', 'approval'];

/** What an idle workflow's first tasks wait for; none when it isn't idle, or only waits for the next attempt. */
function waitsOf({ activity, frontier }: WorkflowView): readonly Wait[] {
  if (activity !== 'waiting') return [];
  const waits = frontier
    .slice(0, TASKS_SHOWN_COUNT)
    .filter(({ blocked_on }) => blocked_on.some(({ on }) => WAITS.includes(on)));
  const nowMs = Date.now();
  return waits.map((task) => ({
    task: task.task,
    words: `${task.task} ${task.step}: ${taskWords(task, nowMs)}`,
    asks: task.blocked_on.some(({ on }) => on === 'approval'),
  }));
}

/** Of workflows that may move by themselves. */
const LIVE: readonly Workflow['status'][] = ['open', 'compensating'];

/** All workflows; without a baseline it begins with everything that has happened. */
export class FleetFollower {
  readonly #followed = new Map<string, Followed>();
  readonly #status = new Map<string, Workflow['status']>();
  /** When the newest of the baseline was opened: an older unknown one was beyond its limits. */
  #since = '';
  /** Of those that had not ended at the last read. */
  #keptCount = 0;

  /** Marks everything existing as reported; returns it. */
  async baseline(client: Client): Promise<readonly Workflow[]> {
    const rows = await this.#rows(client, undefined);
    for (const row of rows) {
      this.#note(row, new Followed(row, false));
      if (row.opened_at > this.#since) this.#since = row.opened_at;
    }
    return rows;
  }

  /** Runs until the signal aborts; resumes where it was with another client. Waits for an unreachable server. Throws as `followOne`. */
  async *changes({ client, signal: asked, onLost, crowds }: FollowOptions): AsyncGenerator<Change> {
    const left = new AbortController();
    const signal = AbortSignal.any([asked, left.signal]);
    // The list has what moved without a connection.
    let isLost = true;
    const gathered = new Gathered<EventOf<'GET /v1/events'>>(
      client.changes({
        signal,
        onLost: (error) => {
          isLost = true;
          onLost?.(error);
        },
      }),
    );
    try {
      while (!signal.aborted) {
        const items = await gathered.take({ waitMs: isLost ? 0 : FOLLOW_PERIOD_MS, gatherMs: FOLLOW_GATHER_MS });
        if (items === undefined) return;
        const isFull = this.#followed.size > this.#keptCount + FOLLOW_REPORTED_MAX_COUNT;
        const isListed = isLost || isFull || items.length === 0 || items.some(({ name }) => name === 'many');
        const rows = isListed
          ? ((await patiently(signal, onLost, () => this.#rows(client, signal))) ?? [])
          : newestOf(items);
        isLost = false;
        const moved = rows
          .filter((row) => row.position > (this.#followed.get(row.workflow)?.position ?? 0))
          .sort((a, b) => (a.updated_at < b.updated_at ? -1 : 1));
        if (crowds === true && moved.length >= CROWD_MIN_COUNT) yield this.#crowd(moved);
        else for (const row of moved) yield* this.#changesOf(client, row, { signal, onLost, crowds });
      }
    } finally {
      left.abort();
    }
  }

  /** The newest, and those that may move. Nothing is remembered of those that have ended and aren't among them. */
  async #rows(client: Client, signal: AbortSignal | undefined): Promise<readonly Workflow[]> {
    const found = new Map<string, Workflow>();
    const take = async (query: { readonly status?: Workflow['status'] }, most: number): Promise<void> => {
      let left = most;
      for await (const row of client.all({ ...query, limit: FOLLOW_NEWEST_COUNT })) {
        found.set(row.workflow, row);
        if (--left === 0 || signal?.aborted === true) return;
      }
    };
    await take({}, FOLLOW_NEWEST_COUNT);
    for (const status of LIVE) await take({ status }, FOLLOW_OPEN_MAX);
    let askedCount = 0;
    for (const [id, status] of [...this.#status]) {
      if (found.has(id) || status === 'parked') continue;
      // It was open and no longer is, and has left the newest; or too many are open.
      if (LIVE.includes(status)) {
        if (++askedCount <= FOLLOW_NEWEST_COUNT) found.set(id, await client.run(id).get({ content: false, signal }));
        continue;
      }
      this.#followed.delete(id);
      this.#status.delete(id);
    }
    this.#keptCount = this.#followed.size;
    return [...found.values()];
  }

  #note(row: Workflow, followed: Followed): void {
    this.#followed.set(row.workflow, followed);
    this.#status.set(row.workflow, row.status);
  }

  #crowd(moved: readonly Workflow[]): Change {
    let checkpoints = 0;
    let completed = 0;
    for (const row of moved) {
      checkpoints += row.sequence_number - (this.#followed.get(row.workflow)?.sequence ?? 0);
      if (row.status === 'completed' && this.#status.get(row.workflow) !== 'completed') completed++;
      this.#note(row, new Followed(row, false));
    }
    const at = moved.at(-1)!.updated_at;
    const title = `${counted(moved.length, 'workflow')} moved on`;
    const words = `${counted(checkpoints, 'checkpoint')}, ${count(completed)} completed`;
    return { type: 'crowd', at, facts: {}, description: { title, words, tone: 'quiet' } };
  }

  async *#changesOf(
    client: Client,
    row: Workflow,
    { signal, onLost, crowds }: Pick<FollowOptions, 'signal' | 'onLost' | 'crowds'>,
  ): AsyncGenerator<Change> {
    const run = client.run(row.workflow);
    const known = this.#followed.get(row.workflow);
    const followed = known ?? new Followed(row, row.opened_at > this.#since);
    this.#note(row, followed);
    // It was beyond the limits of the baseline: its changes from here on are reported.
    if (followed.position >= row.position) return;
    followed.add(await this.#eventsTo(run, row, followed.position + 1, { signal, onLost }), crowds);
    const view =
      row.activity === 'waiting' || row.status === 'compensated'
        ? await patiently(signal, onLost, () => run.get({ content: false, signal }))
        : undefined;
    for (const change of followed.pending.splice(0)) yield withCounts(change, view?.undo);
    if (view !== undefined) yield* followed.waiting(view);
  }

  /** Up to the row's position; fewer where they can't be read, such as from an archive class: the others then don't wait. */
  async #eventsTo(
    run: Run,
    { position }: Workflow,
    from: number,
    { signal, onLost }: Pick<FollowOptions, 'signal' | 'onLost'>,
  ): Promise<readonly Event[]> {
    const enough = new AbortController();
    const events: Event[] = [];
    let lostCount = 0;
    const how = {
      signal: AbortSignal.any([signal, enough.signal]),
      onLost: (error: unknown) => {
        onLost?.(error);
        if (++lostCount >= FOLLOW_TRIES_MAX_COUNT) enough.abort();
      },
    };
    try {
      for await (const event of eventsOf(run, from, how)) {
        events.push(event);
        if (event.position >= position) break;
      }
    } finally {
      enough.abort();
    }
    return events;
  }
}

function newestOf(items: readonly EventOf<'GET /v1/events'>[]): readonly Workflow[] {
  const rows = items.flatMap(({ name, data }) => (name === 'workflow' ? [data] : []));
  return [...new Map(rows.map((row) => [row.workflow, row])).values()];
}
