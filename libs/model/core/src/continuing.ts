/**
 * Owns what the fold does with a workflow that continues as new: it closes, and the next run begins with what was unfinished. Must not
 * compose the opening of the next run: the holder that closes this one did.
 *
 * C1 A cancelled workflow does not continue: the cancel comes first.
 * C2 The next run inherits the signals that no step consumed: those that no task awaited, and those of tasks that were dropped.
 */

import type { Continues, UnconsumedSignal } from './continues.ts';
import { continuationId } from './derived-ids.ts';
import type { Envelope } from './event.ts';
import { matchSignals } from './frontier.ts';
import type { EventId, WorkflowId } from './ids.ts';
import { NO_SPEND, plusSpend, type Spend, unknownSpend } from './spend.ts';
import { type EffectState, type Frontier, INBOX_DEDUPE_MAX, isOpen, type StreamState } from './state.ts';
import type { RejectReason } from './verdict.ts';

/** The reason of a workflow that is `completed` because it continued. */
export const CONTINUED = 'continued';

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

/** The reason of a workflow that is `completed` because it was reset: another run began at one of its checkpoints, and supersedes it. */
export const SUPERSEDED = 'superseded';

/**
 * A call that was begun and whose outcome isn't known must be decided first, else the next run might make it beside this one. A model call
 * only costs something, and is counted as it was reserved.
 */
export const mayStillAct = (effect: EffectState): boolean =>
  isOpen(effect) && effect.kind !== 'pure' && effect.spend === undefined;

/** Ends the history, whoever holds it. C1 holds here as well: a cancelled workflow, or one under compensation, is not reset. */
export function superseded(stream: StreamState, as: WorkflowId): StreamState | RejectReason {
  if (stream.status === 'compensating' || stream.ruling === 'cancel') return 'not-asked';
  if (stream.compensates !== null || stream.shadow || as !== continuationId(stream.workflow)) return 'not-asked';
  if (stream.frontier.tasks.find(({ effects }) => effects.some(mayStillAct)) !== undefined) return 'not-asked';
  const ended = { status: 'completed', reason: SUPERSEDED, question: null, ruling: null, lease: null } as const;
  return { ...stream, ...ended, continued: { as, spent: spentBy(stream) }, signals: leftOf(stream) };
}

/** The signals that no step consumed, in the order in which tasks would have received them. */
export function leftOf({ frontier, signals }: StreamState): readonly UnconsumedSignal[] {
  const dropped: UnconsumedSignal[] = [];
  for (const { cause } of frontier.tasks)
    if (cause?.kind === 'signal') dropped.push({ name: cause.name, event: cause.event });
  return [...dropped, ...signals];
}

/** What the earlier runs, this run's checkpoints, and the calls of the dropped tasks have cost, or may have. */
export function spentBy(stream: StreamState): Spend {
  let sum = plusSpend(stream, stream.spentBefore);
  for (const { effects } of stream.frontier.tasks) {
    for (const effect of effects) {
      const { spend = NO_SPEND, wasted } = effect;
      sum = plusSpend(plusSpend(sum, wasted), isOpen(effect) ? unknownSpend(spend) : spend);
    }
  }
  return sum;
}

/** The state that a new stream inherits from the run that it continues. */
export function openContinued(
  { workflow, signals = [], taken = [], paused, spent, raised }: Continues,
  frontier: Frontier,
  { id }: Pick<Envelope, 'id'>,
): Partial<StreamState> & Pick<StreamState, 'frontier' | 'signals' | 'inbox'> {
  // Beyond the limit, the oldest are forgotten.
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
