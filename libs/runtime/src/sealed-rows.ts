/**
 * Owns which columns of rows are sealed, and the place that each is bound to, so that a text can't be moved to another row. Pure: it is
 * given what seals and what opens. What dispatch, queries and searches need stays clear (see docs/encryption.md).
 */

import type { WorkflowId } from '@tidemark/core';
import type {
  CheckpointRow,
  ContextBatch,
  EffectRow,
  EventRow,
  MemoryRow,
  ProjectionBatch,
  ScopeRow,
  StreamSnapshot,
  TextRow,
} from '@tidemark/ports';

/** Changes one text at its place: seals it with its workflow's key, or opens it. */
export type Turn = (text: string, place: string, workflow: WorkflowId) => string;

const inCheckpoint = (row: Pick<CheckpointRow, 'sequence'>, workflow: WorkflowId) =>
  `checkpoints/${workflow}/${row.sequence}`;
const inEffect = (row: Pick<EffectRow, 'key'>, workflow: WorkflowId) => `effects/${workflow}/${row.key}`;
const inRequest = (row: Pick<EffectRow, 'key'>, workflow: WorkflowId) => `requests/${workflow}/${row.key}`;
const inEvent = (row: Pick<EventRow, 'event'>, workflow: WorkflowId) => `events/${workflow}/${row.event}`;
const inMemory = ({ tenant, subject, kind, key }: MemoryRow) =>
  `memories/${JSON.stringify([tenant, subject, kind, key])}`;
export const inText = (digest: string, workflow: WorkflowId) => `texts/${workflow}/${digest}`;
export const inResult = (workflow: WorkflowId) => `results/${workflow}`;
export const inOpening = (workflow: WorkflowId) => `openings/${workflow}`;

export const turnCheckpoint = (row: CheckpointRow, turn: Turn): CheckpointRow => ({
  ...row,
  payload: turn(row.payload, inCheckpoint(row, row.workflow), row.workflow),
});

export const turnEffect = (row: EffectRow, turn: Turn): EffectRow => ({
  ...row,
  payload: turn(row.payload, inEffect(row, row.workflow), row.workflow),
  request: row.request === null ? null : turn(row.request, inRequest(row, row.workflow), row.workflow),
});

export const turnEvent = (row: EventRow, turn: Turn): EventRow => ({
  ...row,
  payload: turn(row.payload, inEvent(row, row.workflow), row.workflow),
});

export const turnText = (row: TextRow, turn: Turn): TextRow => ({
  ...row,
  text: turn(row.text, inText(row.digest, row.workflow), row.workflow),
});

export const turnScope = (row: ScopeRow, turn: Turn): ScopeRow => ({
  ...row,
  change: turn(row.change, `scopes/${row.workflow}/${row.sequence}`, row.workflow),
});

export const turnMemory = <R extends MemoryRow>(row: R, turn: Turn): R => ({
  ...row,
  value: turn(row.value, inMemory(row), row.workflow),
});

export const turnSnapshot = (snapshot: StreamSnapshot, turn: Turn): StreamSnapshot => {
  const { workflow, checkpoints, effects, causes } = snapshot;
  return {
    ...snapshot,
    checkpoints: checkpoints.map((row) => ({
      ...row,
      payload: turn(row.payload, inCheckpoint(row, workflow), workflow),
    })),
    effects: effects.map((row) => ({ ...row, payload: turn(row.payload, inEffect(row, workflow), workflow) })),
    causes: causes.map((row) => ({ ...row, payload: turn(row.payload, inEvent(row, workflow), workflow) })),
  };
};

const turnContext = (context: ContextBatch, turn: Turn): ContextBatch => ({
  ...context,
  texts: context.texts.map((row) => turnText(row, turn)),
  scopes: context.scopes.map((row) => turnScope(row, turn)),
});

export const turnBatch = (batch: ProjectionBatch, turn: Turn): ProjectionBatch => ({
  ...batch,
  closed: batch.closed.map((row) => ({ ...row, result: turn(row.result, inResult(row.workflow), row.workflow) })),
  checkpoints: batch.checkpoints.map((row) => turnCheckpoint(row, turn)),
  effects: batch.effects.map((row) => turnEffect(row, turn)),
  events: batch.events.map((row) => turnEvent(row, turn)),
  memories: batch.memories?.map((row) => turnMemory(row, turn)),
  context: batch.context && turnContext(batch.context, turn),
});
