/** Owns `tidemark show`: everything that is known of one workflow, read first and then printed. */

import type { Checkpoint, Client, Effect, Event, Run, Task } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { readDefinitions } from '../../definitions.ts';
import { PAGE_COUNT, TASKS_READ_MAX, TASKS_SHOWN_COUNT } from '../../limits.ts';
import { allOf, firstOf } from '../../place/pages.ts';
import { atPlace } from '../../place/place.ts';
import type { Session } from '../../session.ts';
import { answersOf } from '../../views/answers.ts';
import type { Handover } from '../../views/memory.ts';
import { pastLines } from './show-at.ts';
import { type Found, type ShowOptions, showLines } from './show-lines.ts';

/** Hand-overs between phases in one answer: the API returns no more. */
const HANDOVERS_PAGE_COUNT = 100;
/** Events of one workflow, other than checkpoints and effects, that are read at most. */
const EVENTS_READ_MAX = 10_000;

export async function show(session: Session, id: string, options: ShowOptions): Promise<number> {
  const { terminal, cwd } = session;
  const named = options.workflows;
  const definitions = named.length === 0 ? undefined : () => readDefinitions(named, cwd);
  await atPlace(session, { ...options, how: 'read', definitions }, async ({ client }) => {
    if (options.at !== undefined) {
      const past = await client.run(id).at(options.at);
      terminal.answer(past);
      if (!terminal.json) terminal.lines(pastLines(past, terminal, Date.now()));
      return;
    }
    const found = await find(client, id, options);
    terminal.answer(showJson(found, options));
    if (!terminal.json) terminal.lines(showLines(found, options, terminal, Date.now()));
  });
  return EXIT.ok;
}

async function find(client: Client, id: string, options: ShowOptions): Promise<Found> {
  const run = client.run(id);
  const view = await run.get();
  const waiting = view.undo?.waiting_workflow ?? null;
  const request = { params: { workflow: id }, query: { limit: PAGE_COUNT } };
  const { children } = await client.ask('GET /v1/workflows/{workflow}/children', request);
  return {
    view,
    waits: waiting === null ? undefined : await client.run(waiting).get(),
    tasks: options.tasks === true ? await allTasks(run) : view.frontier.slice(0, TASKS_SHOWN_COUNT),
    children,
    ...(options.checkpoints === true ? await allCheckpoints(run) : { checkpoints: undefined, uncommitted: [] }),
    effects: options.effects === true ? await allEffects(run) : undefined,
    handovers: options.handovers === true ? await allHandovers(client, id, options.against) : undefined,
    // Events of the last page say why tasks failed and who paused it.
    events: await newestEvents(run, options.events === true ? EVENTS_READ_MAX : PAGE_COUNT),
  };
}

const allTasks = async (run: Run): Promise<readonly Task[]> =>
  (
    await firstOf(
      TASKS_READ_MAX,
      (query) => run.tasks(query),
      ({ tasks }) => tasks,
    )
  ).items;

async function newestEvents(run: Run, most: number): Promise<readonly Event[]> {
  const pages: (readonly Event[])[] = [];
  await firstOf(
    most,
    (query) => run.notes(query),
    ({ events }) => {
      // Each page is older than the one before.
      pages.unshift(events);
      return events;
    },
  );
  return pages.flat();
}

async function allCheckpoints(run: Run): Promise<Pick<Found, 'checkpoints' | 'uncommitted'>> {
  let uncommitted: Found['uncommitted'] = [];
  const checkpoints: readonly Checkpoint[] = await allOf(
    (from: number | undefined) => run.checkpoints({ from }),
    (page) => {
      uncommitted = page.uncommitted;
      return page.checkpoints;
    },
    (page) => page.next_from,
  );
  return { checkpoints, uncommitted };
}

const allEffects = (run: Run): Promise<readonly Effect[]> =>
  allOf(
    (after: string | undefined) => run.effects({ after }),
    (page) => page.effects,
    (page) => page.next_after,
  );

const allHandovers = (client: Client, workflow: string, against: number | undefined): Promise<readonly Handover[]> =>
  allOf(
    (before: number | undefined) =>
      client.ask('GET /v1/workflows/{workflow}/handovers', {
        params: { workflow },
        query: { limit: HANDOVERS_PAGE_COUNT, before, against },
      }),
    (page) => page.handovers,
    (page) => page.next_before,
  );

/** The answers of the operations, and the commands that answer its question, or its undo's. */
function showJson(
  { view, waits, tasks, children, checkpoints, uncommitted, effects, handovers, events }: Found,
  options: ShowOptions,
): object {
  const asking = waits ?? view;
  const { workflow, tenant, question } = asking;
  return {
    ...view,
    ...(question !== null && { answers: answersOf(workflow, tenant, question, options) }),
    ...(options.tasks === true && { tasks }),
    ...(children.length > 0 && { children }),
    ...(checkpoints !== undefined && { checkpoints, uncommitted }),
    ...(effects !== undefined && { effects }),
    ...(handovers !== undefined && { handovers }),
    ...(options.events === true && { events }),
  };
}
