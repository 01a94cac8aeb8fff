/** Owns `tidemark show`: everything that is known of one workflow, read at once and then told. */

import {
  beliefOf,
  cardOf,
  checkpointJson,
  checkpointsOf,
  type DefinitionCard,
  effectJson,
  endingOf,
  eventJson,
  inputOf,
  isHistoryForgotten,
  type PendingTask,
  pendingTask,
  taskJson,
  workflowJson,
} from '@tidemark/api/shapes';
import type { Json } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { CheckpointRow, EffectRow, EventRow, WorkflowListing, WorkflowSummary } from '@tidemark/ports';
import { noState } from '../failures.ts';
import { CHILDREN_READ_MAX, EVENTS_READ_MAX, TASKS_READ_MAX } from '../limits.ts';
import type { Session } from '../session.ts';
import { readDefinitions } from '../state/definitions.ts';
import { type Desk, isIdle } from '../state/desk.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { standsWords } from '../views/frontier.ts';
import { type Asked, askedIn, askedJson, askedOf } from '../views/question.ts';
import { type Undoing, undoingOf } from '../views/undo.ts';
import { showAt } from './show-at.ts';
import { showLines } from './show-lines.ts';

export interface ShowOptions {
  readonly state?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly checkpoints?: boolean | undefined;
  readonly effects?: boolean | undefined;
  readonly events?: boolean | undefined;
  readonly tasks?: boolean | undefined;
  /** As it stood after this checkpoint. */
  readonly at?: number | undefined;
}

/** What one look at a workflow found. Lists that were not asked for are undefined. */
export interface Found {
  readonly row: WorkflowSummary;
  readonly idle: boolean;
  /** What it asks a person. */
  readonly asked: Asked | undefined;
  readonly undoing: Undoing | undefined;
  /** What its undo asks a person, while the workflow is being undone. */
  readonly undoAsked: Asked | undefined;
  /** What it held is gone for good: its key was destroyed. */
  readonly isForgotten: boolean;
  readonly input: Json;
  readonly belief: Json;
  readonly tasks: readonly PendingTask[];
  readonly children: readonly WorkflowListing[];
  readonly lastCheckpoint: CheckpointRow | undefined;
  readonly checkpoints: readonly CheckpointRow[] | undefined;
  readonly effects: readonly EffectRow[];
  readonly events: readonly EventRow[];
  readonly definition: DefinitionCard | undefined;
}

export async function show({ terminal, env, cwd }: Session, id: string, options: ShowOptions): Promise<number> {
  const target = targetOf(options.state, env, cwd);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  const named = options.workflows ?? [];
  const given = named.length === 0 ? [] : (await readDefinitions(named, cwd)).map(cardOf);
  const desk = await openToRead(target);
  try {
    if (options.at !== undefined) {
      await showAt(desk, terminal, id, options.at);
      return EXIT.ok;
    }
    const found = await find(desk, id, options, given);
    terminal.document(showJson(found, options));
    if (!terminal.json) terminal.lines(showLines(found, options, terminal, Date.now()));
  } finally {
    await desk.close();
  }
  return EXIT.ok;
}

async function find(desk: Desk, id: string, options: ShowOptions, given: readonly DefinitionCard[]): Promise<Found> {
  const { reads } = desk;
  const row = await requireWorkflow(desk, id);
  const { workflow, sequence } = row;
  const definitions = [...given, ...(await desk.definitions())];
  const checkpoints =
    options.checkpoints === true ? await collect(checkpointsOf(reads, workflow, 1, sequence)) : undefined;
  const events = await reads.events(workflow, EVENTS_READ_MAX);
  const [snapshot] = row.status === 'parked' ? await reads.loadStreams([workflow]) : [];
  const undoing = await undoingOf(reads, row);
  const waits = undoing?.waits;
  return {
    row,
    idle: isIdle(desk),
    asked: await askedOf(reads, snapshot, options.state),
    undoing,
    undoAsked: waits && (await askedIn(reads, waits.workflow, options.state)),
    isForgotten: await isHistoryForgotten(reads, workflow),
    input: (await inputOf(reads, workflow)) ?? null,
    belief: await beliefOf(reads, row),
    tasks: (await reads.tasks(workflow, TASKS_READ_MAX)).map(pendingTask),
    children: await reads.children({ parent: workflow, limit: CHILDREN_READ_MAX }),
    lastCheckpoint:
      checkpoints?.at(-1) ?? (await collect(checkpointsOf(reads, workflow, Math.max(sequence, 1), sequence)))[0],
    checkpoints,
    effects: await reads.effects(workflow),
    events,
    definition: definitions.find(({ name, version }) => name === row.definition && version === row.version),
  };
}

async function collect<T>(values: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

function showJson(found: Found, options: ShowOptions): unknown {
  const { row, input, belief, tasks, lastCheckpoint, checkpoints, effects, events, definition } = found;
  const ofTask = (task: string | null): readonly EffectRow[] => effects.filter((effect) => effect.task === task);
  const ending = endingOf(row);
  return {
    ...workflowJson(row, found.idle),
    ...(found.isForgotten ? { forgotten: true } : {}),
    input,
    belief,
    ...(ending?.kind === 'completed' ? { output: ending.output } : {}),
    ...(ending?.kind === 'failed' ? { error: { code: ending.reason, message: ending.message } } : {}),
    ...(found.asked === undefined ? {} : { question: askedJson(found.asked) }),
    ...(found.undoing === undefined ? {} : { undo: undoJson(found.undoing, found.undoAsked) }),
    frontier: tasks.map((task) => taskJson(task, standsWords(row.status) !== undefined)),
    ...(found.children.length === 0
      ? {}
      : { children: found.children.map(({ workflow, definition, status }) => ({ workflow, definition, status })) }),
    last_checkpoint: lastCheckpoint === undefined ? null : checkpointJson(lastCheckpoint, ofTask(lastCheckpoint.task)),
    flow: definition === undefined ? null : { starts: definition.starts, steps: definition.flow },
    ...(checkpoints === undefined
      ? {}
      : { checkpoints: checkpoints.map((checkpoint) => checkpointJson(checkpoint, ofTask(checkpoint.task))) }),
    ...(options.effects === true ? { effects: effects.map(effectJson) } : {}),
    ...(options.events === true ? { events: events.map(eventJson) } : {}),
  };
}

const undoJson = ({ undo, why, counts, waits }: Undoing, asked: Asked | undefined) => ({
  workflow: undo,
  why,
  undone_count: counts?.undone ?? null,
  left_count: counts?.leftCount ?? null,
  ...(waits === undefined ? {} : { waiting_workflow: waits.workflow }),
  ...(asked === undefined ? {} : { question: askedJson(asked) }),
});
