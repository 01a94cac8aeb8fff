/**
 * Owns the order of statements by which a batch is written (P1): the partitions first, which locks out every other writer and fails when
 * another one has moved them; then openings; then rows; then deletions. A batch is one transaction and one round trip. It takes two when
 * something opened, since it must skip rows of a stream that is placed elsewhere, and learns that from the first.
 */

import type { Partition, WorkflowId } from '@tidemark/core';
import { InvalidError } from '@tidemark/core';
import { type ContextBatch, type MemoryRow, newestWrites, type ProjectionBatch, RANGE_COUNT } from '@tidemark/ports';
import { advancePartitions } from './sql/advance-partitions.ts';
import { closeWorkflows, countLive } from './sql/close-workflows.ts';
import { insertCheckpoints } from './sql/insert-checkpoints.ts';
import { insertEvents, insertRejected } from './sql/insert-events.ts';
import { putFragments, putScopes, putSessions, putTexts } from './sql/put-context.ts';
import { putEffects } from './sql/put-effects.ts';
import { dropStaleEmbeddings, putMemories } from './sql/put-memories.ts';
import { putOpenings } from './sql/put-openings.ts';
import { factsOf, putStreams } from './sql/put-streams.ts';
import { deleteTasks, putTasks } from './sql/put-tasks.ts';
import { deleteTimers, putTimers } from './sql/put-timers.ts';
import { putSpends } from './sql/spends.ts';
import { BEGIN, COMMIT, type SqlClient, type Statement, textAt } from './sql-client.ts';

/** Approximate bytes of rows in one statement; more rows are split over several statements of the same transaction. */
const STATEMENT_MAX_BYTES = 4 * 1024 * 1024;

/** Writes the batch; throws the driver's error when a partition has moved. `shard` is a range that this writer owns; sums are kept per range. */
export async function applyBatch(client: SqlClient, batch: ProjectionBatch, shard?: number): Promise<void> {
  const advance = advancePartitions(batch.partitions, batch.storeId);
  if (batch.opened.length === 0) {
    await client.run([advance, ...rowStatements(batch, shard)]);
    return;
  }
  refuseTwoHomes(batch);
  await client.session(async (runner) => {
    const results = await runner.run([BEGIN, advance, putOpenings(batch.opened)]);
    const strays = new Set((results[2] ?? []).map((row) => textAt(row, 0) as WorkflowId));
    await runner.run([...rowStatements(strays.size === 0 ? batch : without(batch, strays), shard), COMMIT]);
  });
}

/** Rows carry no partition, so rows of one workflow that opened in two partitions could not be distinguished. */
function refuseTwoHomes(batch: ProjectionBatch): void {
  const homes = new Map<WorkflowId, Partition>();
  for (const { workflow, partition } of [...batch.opened, ...batch.streams]) {
    const other = homes.get(workflow);
    if (other !== undefined && other !== partition) {
      throw new InvalidError('batch-two-homes', 'A workflow is in two partitions: apply these partitions one by one', {
        workflow,
        partitions: [other, partition],
      });
    }
    homes.set(workflow, partition);
  }
}

function without(batch: ProjectionBatch, strays: ReadonlySet<WorkflowId>): ProjectionBatch {
  const placedHere = (row: { readonly workflow: WorkflowId }): boolean => !strays.has(row.workflow);
  return {
    partitions: batch.partitions,
    opened: batch.opened.filter(placedHere),
    streams: batch.streams.filter(placedHere),
    closed: batch.closed.filter(placedHere),
    tasksPut: batch.tasksPut.filter(placedHere),
    tasksGone: batch.tasksGone.filter(placedHere),
    checkpoints: batch.checkpoints.filter(placedHere),
    effects: batch.effects.filter(placedHere),
    events: batch.events.filter(placedHere),
    timersPut: batch.timersPut.filter(placedHere),
    timersGone: batch.timersGone.filter(placedHere),
    rejected: batch.rejected,
    memories: batch.memories?.filter(placedHere),
    context: batch.context && {
      fragments: batch.context.fragments.filter(placedHere),
      texts: batch.context.texts.filter(placedHere),
      scopes: batch.context.scopes.filter(placedHere),
      spends: batch.context.spends.filter(placedHere),
      sessions: batch.context.sessions.filter(placedHere),
    },
    archived: batch.archived,
  };
}

function rowStatements(batch: ProjectionBatch, shard?: number): readonly Statement[] {
  const live = new Set([...batch.opened, ...batch.closed].map((row) => row.partition));
  const facts = factsOf(batch);
  return [
    ...split(
      batch.streams,
      (rows) => putStreams(rows, facts),
      (row) => row.state.length,
    ),
    ...split(batch.tasksPut, putTasks, (row) => row.state.length),
    ...split(batch.tasksGone, deleteTasks, () => 0),
    ...eventStatements(batch),
    ...split(batch.timersPut, putTimers, () => 0),
    ...split(batch.timersGone, deleteTimers, () => 0),
    ...split(batch.rejected, insertRejected, (row) => row.evidence.length),
    ...memoryStatements(batch.memories ?? []),
    ...(batch.context === undefined
      ? []
      : contextStatements(batch.context, shard ?? batch.partitions[0]!.partition % RANGE_COUNT)),
    ...(batch.closed.length === 0 ? [] : closeWorkflows(batch.closed)),
    ...(live.size === 0 ? [] : [countLive(live)]),
  ];
}

function contextStatements(context: ContextBatch, shard: number): readonly Statement[] {
  const { spends, sessions } = context;
  return [
    ...seenStatements(context),
    ...split(
      spends,
      (rows) => putSpends(rows, shard),
      () => 0,
    ),
    ...split(sessions, putSessions, () => 0),
  ];
}

/** Writes what model calls saw. */
const seenStatements = ({ fragments, texts, scopes }: ContextBatch): readonly Statement[] => [
  ...split(fragments, putFragments, () => 0),
  ...split(texts, putTexts, (row) => row.text.length),
  ...split(scopes, putScopes, (row) => row.change.length),
];

/** Restores the history of some workflows, and nothing else of the batch. */
export function historyStatements(
  { checkpoints, effects, events, context }: ProjectionBatch,
  isWanted: (workflow: WorkflowId) => boolean,
): readonly Statement[] {
  const of = <R extends { readonly workflow: WorkflowId }>(rows: readonly R[]): readonly R[] =>
    rows.filter(({ workflow }) => isWanted(workflow));
  return [
    ...eventStatements({ checkpoints: of(checkpoints), effects: of(effects), events: of(events) }),
    ...(context === undefined
      ? []
      : seenStatements({
          ...context,
          fragments: of(context.fragments),
          texts: of(context.texts),
          scopes: of(context.scopes),
        })),
  ];
}

const eventStatements = ({
  checkpoints,
  effects,
  events,
}: Pick<ProjectionBatch, 'checkpoints' | 'effects' | 'events'>): readonly Statement[] => [
  ...split(checkpoints, insertCheckpoints, () => 0),
  ...split(effects, putEffects, () => 0),
  ...split(events, insertEvents, (row) => row.control.length),
];

function memoryStatements(rows: readonly MemoryRow[]): readonly Statement[] {
  const newest = newestWrites(rows);
  const bytesOf = (row: MemoryRow): number => row.value.length + row.words.length;
  return [...split(newest, putMemories, bytesOf), ...split(newest, dropStaleEmbeddings, () => 0)];
}

/** Returns one statement for all rows, several when they are very large, and none when there are none. */
function split<R>(
  rows: readonly R[],
  statement: (rows: readonly R[]) => Statement,
  bytesOf: (row: R) => number,
): readonly Statement[] {
  const statements: Statement[] = [];
  let first = 0;
  let bytes = 0;
  for (let at = 0; at < rows.length; at += 1) {
    bytes += bytesOf(rows[at]!);
    if (bytes >= STATEMENT_MAX_BYTES || at === rows.length - 1) {
      statements.push(statement(first === 0 && at === rows.length - 1 ? rows : rows.slice(first, at + 1)));
      first = at + 1;
      bytes = 0;
    }
  }
  return statements;
}
