/**
 * Owns telling what happens to workflows from the streams of the API: of one its accepted events, each once and in order, whatever happens to
 * the connection; of all of them first which have moved, then what their events say.
 */

import type { Client, Event, EventOf, Run, Workflow, WorkflowView } from '@tidemark/client';
import {
  CROWD_MIN_COUNT,
  FOLLOW_GATHER_MS,
  FOLLOW_NEWEST_COUNT,
  FOLLOW_OPEN_MAX,
  FOLLOW_PERIOD_MS,
  FOLLOW_TOLD_MAX_COUNT,
  RETRY_PAUSE_MS,
  TASKS_SHOWN_COUNT,
  UNDO_LOOK_MS,
} from '../limits.ts';
import { stepNames, taskWords } from '../views/frontier.ts';
import { type Change, type Crowd, changeOf, isEnd, type Of } from './change.ts';
import { Gathered } from './gathered.ts';
import type { Delta } from './spoken.ts';

export interface FollowOptions {
  readonly client: Client;
  /** Ends it without a word. */
  readonly signal: AbortSignal;
  /** Told of every connection that was lost; what it throws ends the following, else it is made again. */
  readonly onLost?: ((error: unknown) => void) | undefined;
  /** Large numbers are told as a number. */
  readonly crowds?: boolean | undefined;
  /** What models answer, and how far steps are: of one workflow that is followed. */
  readonly onDelta?: ((delta: Delta) => void) | undefined;
}

/** Longer than any run is followed, in milliseconds. */
const FOREVER_MS = 2 ** 31 - 1;

/** Turns events of one workflow into what is told of them. */
class Teller {
  readonly #of: Omit<Of, 'before'>;
  #before: string | undefined;
  #waits = '';
  position: number;
  sequence: number;

  /** `isNew`: nothing of it was told yet. */
  constructor(row: Workflow, isNew: boolean) {
    this.#of = row;
    this.#before = isNew ? row.opened_at : undefined;
    this.position = isNew ? 0 : row.position;
    this.sequence = isNew ? 0 : row.sequence_number;
  }

  changes(events: readonly Event[], crowds = false): readonly Change[] {
    const from = this.sequence + 1;
    const all = events.flatMap((event) => this.#told(event) ?? []);
    const checkpoints = all.filter((change) => change.type === 'checkpoint');
    const last = checkpoints.at(-1);
    if (!crowds || checkpoints.length < CROWD_MIN_COUNT || last === undefined) return all;
    const { at, workflow, definition, last_action, sequence_number: to } = last;
    const crowd: Change = { type: 'checkpoints', at, workflow, definition, from, to, last_action };
    return all.flatMap((change) => (change.type !== 'checkpoint' ? [change] : change === last ? [crowd] : []));
  }

  /** What its first tasks wait for, where no task can run and that wasn't told. */
  waiting(view: WorkflowView): readonly Change[] {
    const tasks = waitsOf(view);
    const words = tasks.join('; ');
    if (words === '' || words === this.#waits) return [];
    this.#waits = words;
    const { workflow, definition, updated_at: at } = view;
    return [{ type: 'waiting', at, workflow, definition, tasks }];
  }

  #told(event: Event): Change | undefined {
    if (event.position <= this.position) return undefined;
    this.position = event.position;
    const change = changeOf({ ...this.#of, before: this.#before }, event);
    if (change?.type === 'started' || change?.type === 'checkpoint') this.#before = event.at;
    if (change?.type === 'checkpoint') this.sequence = change.sequence_number;
    return change;
  }
}

/**
 * What happens to one workflow after what `row` tells, or from its start where that is undefined, until it has ended. Throws `TidemarkApiError`.
 */
export async function* followOne(
  id: string,
  row: Workflow | undefined,
  { client, signal, onLost, onDelta, crowds }: FollowOptions,
): AsyncGenerator<Change> {
  const run = client.run(id);
  const teller = new Teller(row ?? (await run.get({ content: false })), row === undefined);
  const gathered: Gathered<Event> = new Gathered(
    eventsOf(run, teller.position + 1, onDelta, {
      signal,
      onLost,
    }),
  );
  let toldUndo = '';
  for (let isUndone = row?.status === 'compensating'; ; ) {
    const waitMs = isUndone ? UNDO_LOOK_MS : FOREVER_MS;
    const events = await gathered.take({ waitMs, gatherMs: FOLLOW_GATHER_MS });
    if (events === undefined) return;
    for (const change of teller.changes(events, crowds)) {
      // Whoever is told of an end asks for what it left.
      if (isEnd(change)) await viewFrom(run, teller.position, signal);
      yield await withCounts(run, change);
    }
    const last = events.at(-1);
    if (last !== undefined) isUndone = undoing(events) ?? isUndone;
    if (last?.type === 'LeaseReleased') {
      const view = await viewFrom(run, teller.position, signal);
      if (view !== undefined) yield* teller.waiting(view);
    }
    if (!isUndone || signal.aborted) continue;
    // Events of the undo are another workflow's.
    const { workflow, definition, undo } = await run.get({ content: false });
    const waits = undo?.waiting_workflow ?? '';
    if (waits !== '' && waits !== toldUndo) {
      const { reason, updated_at: at } = await client.run(waits).get({ content: false });
      yield { type: 'undo_parked', at, workflow, definition, undo: waits, reason: reason ?? '' };
    }
    toldUndo = waits;
  }
}

async function* eventsOf(
  run: Run,
  from: number,
  onDelta: FollowOptions['onDelta'],
  how: Pick<FollowOptions, 'signal' | 'onLost'>,
): AsyncGenerator<Event> {
  for await (const { name, data } of run.events({ from, deltas: onDelta !== undefined, ...how })) {
    if (name === 'event') yield data;
    else onDelta?.(data);
  }
}

/** Undefined: they don't say. */
function undoing(events: readonly Event[]): boolean | undefined {
  const last = events.findLast(({ type }) => type === 'CompensationStarted' || type === 'CompensationFinished');
  return last === undefined ? undefined : last.type === 'CompensationStarted';
}

/** Rows come after the log: as it stands once they have this position. Undefined: the signal aborted first. */
async function viewFrom(run: Run, position: number, signal: AbortSignal): Promise<WorkflowView | undefined> {
  while (!signal.aborted) {
    const view = await run.get({ content: false });
    if (view.position >= position) return view;
    await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
  }
  return undefined;
}

async function withCounts(run: Run, change: Change): Promise<Change> {
  if (change.type !== 'compensated') return change;
  const { undo } = await run.get({ content: false });
  return { ...change, undone_count: undo?.undone_count ?? null, left_count: undo?.left_count ?? null };
}

/** What an idle workflow's first tasks wait for; none when it isn't idle, or only waits for the next attempt. */
function waitsOf({ activity, frontier }: WorkflowView): readonly string[] {
  if (activity !== 'waiting') return [];
  const tasks = frontier.slice(0, TASKS_SHOWN_COUNT);
  const waits = tasks.filter(({ blocked_on }) => blocked_on.some(({ on }) => on === 'signal' || on === 'timer'));
  const nowMs = Date.now();
  return waits.map((task) => `${task.task} ${task.step}: ${taskWords(task, stepNames(tasks), nowMs)}`);
}

/** Of workflows that may move by themselves. */
const LIVE: readonly Workflow['status'][] = ['open', 'compensating'];

/** All workflows; without a baseline it begins with all that has been. */
export class FleetFollower {
  readonly #told = new Map<string, Teller>();
  readonly #status = new Map<string, Workflow['status']>();

  /** Takes what there is as told; returns it. */
  async baseline(client: Client): Promise<readonly Workflow[]> {
    const rows = await this.#rows(client);
    for (const row of rows) this.#note(row, new Teller(row, false));
    return rows;
  }

  /** Until the signal aborts; goes on where it was with another client. Throws `TidemarkApiError`, and what `onLost` throws. */
  async *changes({ client, signal, onLost, crowds }: FollowOptions): AsyncGenerator<Change | Crowd> {
    // What moved while nobody was connected is in the list.
    let isLost = true;
    const gathered: Gathered<EventOf<'GET /v1/events'>> = new Gathered(
      client.changes({
        signal,
        onLost: (error) => {
          isLost = true;
          onLost?.(error);
        },
      }),
    );
    while (!signal.aborted) {
      const items = await gathered.take({ waitMs: isLost ? 0 : FOLLOW_PERIOD_MS, gatherMs: FOLLOW_GATHER_MS });
      if (items === undefined) return;
      const isDue = isLost || items.length === 0 || this.#told.size > FOLLOW_TOLD_MAX_COUNT;
      const isListed = isDue || items.some(({ name }) => name === 'many');
      isLost = false;
      const rows = isListed ? await this.#rows(client) : newestOf(items);
      const moved = rows
        .filter((row) => row.position > (this.#told.get(row.workflow)?.position ?? 0))
        .sort((a, b) => (a.updated_at < b.updated_at ? -1 : 1));
      if (crowds === true && moved.length >= CROWD_MIN_COUNT) yield this.#crowd(moved);
      else for (const row of moved) yield* this.#changesOf(client, row, { signal, crowds });
    }
  }

  /** The newest, and those that may move. */
  async #rows(client: Client): Promise<readonly Workflow[]> {
    const found = new Map<string, Workflow>();
    const take = async (query: { readonly status?: Workflow['status'] }, most: number): Promise<void> => {
      let left = most;
      for await (const row of client.all({ ...query, limit: FOLLOW_NEWEST_COUNT })) {
        found.set(row.workflow, row);
        if (--left === 0) return;
      }
    };
    await take({}, FOLLOW_NEWEST_COUNT);
    for (const status of LIVE) await take({ status }, FOLLOW_OPEN_MAX);
    for (const [id, status] of this.#status) {
      if (found.has(id)) continue;
      // It was open and no longer is, and has left the newest; what had ended before won't move again.
      if (LIVE.includes(status)) found.set(id, await client.run(id).get({ content: false }));
      else if (status !== 'parked') this.#forget(id);
    }
    return [...found.values()];
  }

  #forget(id: string): void {
    this.#told.delete(id);
    this.#status.delete(id);
  }

  #note(row: Workflow, teller: Teller): void {
    this.#told.set(row.workflow, teller);
    this.#status.set(row.workflow, row.status);
  }

  #crowd(moved: readonly Workflow[]): Crowd {
    let checkpoints = 0;
    let completed = 0;
    for (const row of moved) {
      checkpoints += row.sequence_number - (this.#told.get(row.workflow)?.sequence ?? 0);
      if (row.status === 'completed' && this.#status.get(row.workflow) !== 'completed') completed++;
      this.#note(row, new Teller(row, false));
    }
    const at = moved.at(-1)!.updated_at;
    const counts = { workflow_count: moved.length, checkpoint_count: checkpoints, completed_count: completed };
    return { type: 'crowd', at, ...counts };
  }

  async *#changesOf(
    client: Client,
    row: Workflow,
    { signal, crowds }: Pick<FollowOptions, 'signal' | 'crowds'>,
  ): AsyncGenerator<Change> {
    const run = client.run(row.workflow);
    const teller = this.#told.get(row.workflow) ?? new Teller(row, true);
    const enough = new AbortController();
    const events: Event[] = [];
    try {
      const how = { signal: AbortSignal.any([signal, enough.signal]) };
      for await (const event of eventsOf(run, teller.position + 1, undefined, how)) {
        events.push(event);
        if (event.position >= row.position) break;
      }
    } finally {
      enough.abort();
    }
    for (const change of teller.changes(events, crowds)) yield await withCounts(run, change);
    this.#note(row, teller);
    if (row.activity === 'waiting') yield* teller.waiting(await run.get({ content: false }));
  }
}

function newestOf(items: readonly EventOf<'GET /v1/events'>[]): readonly Workflow[] {
  const rows = items.flatMap(({ name, data }) => (name === 'workflow' ? [data] : []));
  return [...new Map(rows.map((row) => [row.workflow, row])).values()];
}
