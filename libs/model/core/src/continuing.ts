/**
 * Owns what the fold makes of a workflow that goes on with a fresh history: it closes, and the next one begins with what was left of it.
 * Must not draw up what the next one begins with: whoever closes it has.
 *
 * C1 Who is cancelled does not go on by another name: the cancel comes first.
 * C2 What nobody has looked at is left for the next one: signals that no task was waiting for, and those of tasks that were dropped.
 */

import type { Continues, Spend, UnconsumedSignal } from './continues.ts';
import type { Envelope } from './event.ts';
import { matchSignals } from './frontier.ts';
import { type EventId, type WorkflowId, workflowId } from './ids.ts';
import { type Frontier, INBOX_DEDUPE_MAX, type StreamState } from './state.ts';
import type { RejectReason } from './verdict.ts';

/** Why such a workflow is `completed`. */
export const CONTINUED = 'continued';

/** Ends the ids of those that go on for another: `x`, `x~2`, `x~3`; nobody gives such an id. Longer numbers are no such ids. */
const NTH = /^(.+)~([2-9]|[1-9]\d{1,8})$/s;

export interface Nth {
  /** The id of the first. */
  readonly first: WorkflowId;
  /** 1 is the first. */
  readonly n: number;
}

export function nthOf(workflow: WorkflowId): Nth {
  const [, first, n] = NTH.exec(workflow) ?? [];
  return first === undefined ? { first: workflow, n: 1 } : { first: workflowId(first), n: Number(n) };
}

export const nthId = ({ first, n }: Nth): WorkflowId => (n === 1 ? first : workflowId(`${first}~${n}`));

/** The workflow that goes on for this one: it follows from the id, so that whoever opens it opens the same. */
export function continuationId(workflow: WorkflowId): WorkflowId {
  const { first, n } = nthOf(workflow);
  return nthId({ first, n: n + 1 });
}

/** Whether only the system gives such an id. */
export const isContinuationId = (id: string): boolean => NTH.test(id);

export function continued(
  stream: StreamState,
  as: WorkflowId,
  closed: (stream: StreamState) => StreamState,
): StreamState | RejectReason {
  if (stream.ruling === 'cancel' || as !== continuationId(stream.workflow)) return 'not-asked';
  return {
    ...closed(stream),
    reason: CONTINUED,
    continued: { as, spent: spentBy(stream) },
    signals: leftOf(stream),
  };
}

/** In the order in which a task would have been given them. */
function leftOf({ frontier, signals }: StreamState): readonly UnconsumedSignal[] {
  const dropped: UnconsumedSignal[] = [];
  for (const { cause } of frontier.tasks)
    if (cause?.kind === 'signal') dropped.push({ name: cause.name, event: cause.event });
  return [...dropped, ...signals];
}

/** All histories before, this one's checkpoints, and what the dropped tasks' calls have cost or may have. */
function spentBy({ spentBefore, tokens, costMicros, frontier }: StreamState): Spend {
  const spends: (Spend | undefined)[] = [spentBefore, { tokens, costMicros }];
  for (const { effects } of frontier.tasks) for (const { spend, wasted } of effects) spends.push(spend, wasted);
  const sum = (unit: keyof Spend): number => spends.reduce((all, each) => all + (each?.[unit] ?? 0), 0);
  return { tokens: sum('tokens'), costMicros: sum('costMicros') };
}

/** What a new stream has of the one that it goes on for. */
export function openContinued(
  { workflow, signals = [], taken = [], paused, spent, raised }: Continues,
  frontier: Frontier,
  { id }: Pick<Envelope, 'id'>,
): Partial<StreamState> & Pick<StreamState, 'frontier' | 'signals' | 'inbox'> {
  // Where they are too many, the oldest are forgotten.
  const inbox: readonly EventId[] = [id, ...taken.slice(-(INBOX_DEDUPE_MAX - 1))];
  return {
    ...matchSignals(frontier, signals),
    inbox,
    continues: workflow,
    spentBefore: spent,
    ...(raised !== undefined && { raised }),
    ...(paused !== undefined && { paused: { ...paused, event: id } }),
  };
}
