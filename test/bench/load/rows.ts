/**
 * Owns the comparison of rows with history after a load run: what the tables say of workflows, beside the events that the naive fold accepted
 * of them. Every workflow's own row is read, of a sample also each checkpoint's and effect's, put back from segments where they are there
 * alone. Never more than some workflows are in memory.
 */

import { isDeepStrictEqual } from 'node:util';
import { decodePayload, payloadText } from '@tidemark/codec';
import type { Sequence, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EffectRow, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import type { Accepted } from '../../chaos/history.ts';
import { expectedOf } from './expected.ts';
import type { StreamFacts } from './judge.ts';
import { ROWS_AT_ONCE, ROWS_COMPARED_MAX } from './limits.ts';

const EVERYTHING = 1_000_000;

export type Rows = Pick<ProjectionStore, 'workflow' | 'checkpoints' | 'effects'>;

export interface ComparedRows {
  /** Workflows whose own row was compared. */
  readonly workflowCount: number;
  /** Of those, workflows whose checkpoints and effects were too, and how many rows these are. */
  readonly sampleCount: number;
  readonly rowCount: number;
  readonly wrong: readonly string[];
}

/** Of all that were started, evenly from the first to the last: of some the history is in segments alone, of some in the log. */
export function sampleOf(started: readonly string[], countMax = ROWS_COMPARED_MAX): ReadonlySet<string> {
  const step = Math.max(1, started.length / countMax);
  return new Set(Array.from({ length: Math.min(started.length, countMax) }, (_, n) => started[Math.floor(n * step)]!));
}

/**
 * `kept`: accepted events of the sample. Nobody may write meanwhile. Workflows that have not ended are left out: they are lost, which is
 * told elsewhere.
 */
export async function compareRows(
  rows: Rows,
  starts: ReadonlyMap<string, number>,
  streams: ReadonlyMap<string, StreamFacts>,
  kept: ReadonlyMap<string, readonly Accepted[]>,
): Promise<ComparedRows> {
  const wrong: string[] = [];
  const ended = [...starts].filter(([workflow]) => streams.get(workflow)?.completed === 1);
  let [sampleCount, rowCount] = [0, 0];
  await atOnce(ended, async ([workflow, steps]) => {
    const summary = await rows.workflow(workflow as WorkflowId);
    wrong.push(...wrongSummary(workflow, steps, streams.get(workflow)!, summary));
    const events = kept.get(workflow);
    if (events === undefined) return;
    const found = await historyOf(rows, workflow as WorkflowId);
    sampleCount++;
    rowCount += found.checkpoints.length + found.effects.length;
    wrong.push(...wrongHistory(workflow, events, found));
  });
  return { workflowCount: ended.length, sampleCount, rowCount, wrong };
}

async function atOnce<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  let next = 0;
  const take = async (): Promise<void> => {
    while (next < all.length) await work(all[next++]!);
  };
  await Promise.all(Array.from({ length: ROWS_AT_ONCE }, take));
}

interface HistoryRows {
  readonly checkpoints: readonly CheckpointRow[];
  readonly effects: readonly EffectRow[];
}

const historyOf = async (rows: Rows, workflow: WorkflowId): Promise<HistoryRows> => ({
  checkpoints: await rows.checkpoints(workflow, { from: 0 as Sequence, limit: EVERYTHING }),
  effects: await rows.effects(workflow),
});

type Summary = Pick<WorkflowSummary, 'status' | 'sequence' | 'result'>;

function wrongSummary(
  workflow: string,
  steps: number,
  { checkpoints }: StreamFacts,
  summary: Summary | undefined,
): readonly string[] {
  if (summary === undefined) return [`${workflow}: has no row`];
  const { status, sequence, result } = summary;
  const found = {
    status,
    sequence,
    output: result === null ? null : decodePayload('WorkflowCompleted', result).output,
  };
  const expected = { status: 'completed', sequence: checkpoints, output: expectedOf(workflow, steps).output };
  if (isDeepStrictEqual(found, expected)) return [];
  return [`${workflow}: its row says ${JSON.stringify(found)}, the log ${JSON.stringify(expected)}`];
}

/** Rows of checkpoints, from the opening's on, and of effects outside, beside what was accepted. */
function wrongHistory(workflow: string, events: readonly Accepted[], found: HistoryRows): readonly string[] {
  const checkpoints = new Map(found.checkpoints.map((row) => [String(row.sequence), checkpointIn(row)]));
  const effects = new Map(found.effects.map((row) => [row.key as string, effectIn(row)]));
  const [expectedCheckpoints, expectedEffects] = [new Map<string, object>(), new Map<string, object>()];
  for (const { envelope, payload } of events) {
    const { holder, epoch, atMs } = envelope;
    const by = { holder, epoch, atMs, payload: JSON.parse(payloadText(payload)) };
    if (envelope.type === 'WorkflowOpened') expectedCheckpoints.set('0', { ...OPENING, ...by });
    if (envelope.type === 'CheckpointCommitted') {
      const { sequence, checkpoint, parent, task, step } = envelope.control;
      expectedCheckpoints.set(String(sequence), { ...{ checkpoint, parent, task: task as string, step }, ...by });
    }
    if (envelope.type === 'EffectResolved') {
      const { key, operation, kind, outcome } = envelope.control;
      expectedEffects.set(key, { operation, kind, status: outcome, atMs, payload: by.payload });
    }
  }
  return [
    ...differences(`${workflow}, checkpoint`, checkpoints, expectedCheckpoints),
    ...differences(`${workflow}, effect`, effects, expectedEffects),
  ];
}

const OPENING = { checkpoint: null, parent: null, task: null, step: null };

const checkpointIn = ({ checkpoint, parent, task, step, holder, epoch, atMs, payload }: CheckpointRow): object => ({
  ...{ checkpoint, parent, task: task as string | null, step, holder, epoch, atMs, payload: JSON.parse(payload) },
});

const effectIn = ({ operation, kind, status, atMs, payload }: EffectRow): object => ({
  ...{ operation, kind, status, atMs, payload: JSON.parse(payload) },
});

function differences(
  what: string,
  rows: ReadonlyMap<string, object>,
  expected: ReadonlyMap<string, object>,
): readonly string[] {
  return [...new Set([...rows.keys(), ...expected.keys()])].flatMap((key) => {
    if (isDeepStrictEqual(rows.get(key), expected.get(key))) return [];
    if (!rows.has(key)) return [`${what} ${key}: has no row`];
    if (!expected.has(key)) return [`${what} ${key}: nothing in the log makes its row`];
    return [`${what} ${key}: its row is not as the log makes it`];
  });
}
