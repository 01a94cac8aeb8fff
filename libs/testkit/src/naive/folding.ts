/** Owns short histories of one workflow, `w`, folded by core's fold, for examples that a person reads. Must not judge. */

import {
  type Envelope,
  emptyPartition,
  foldEntries,
  type LogEntry,
  offset,
  type PartitionState,
  partition,
  type StreamState,
  type TaskState,
  type Verdict,
  workflowId,
} from '@tidemark/core';
import { declared, entryOf, type Fields, holderEvent, inboxEvent, type Token } from './events.ts';

export interface Folded {
  readonly state: PartitionState;
  readonly verdicts: readonly Verdict[];
  readonly last: Verdict | undefined;
  readonly stream: StreamState;
  /** The first pending task. */
  readonly task: TaskState;
}

const asEntry = (one: Envelope | LogEntry): LogEntry => ('kind' in one ? one : entryOf(one));

export function fold(...history: readonly (Envelope | LogEntry)[]): Folded {
  const { state, verdicts } = foldEntries(emptyPartition(partition(0), offset(0)), history.map(asEntry));
  const stream = state.streams.get(workflowId('w')) as StreamState;
  return { state, verdicts, last: verdicts.at(-1), stream, task: [...(stream?.frontier.tasks ?? [])][0] as TaskState };
}

export const at = (epoch: number, ordinal: number, holder = `h${epoch}`): Token => ({ epoch, ordinal, holder });

export const opened = (fields: Fields = {}, control = {}): Envelope =>
  inboxEvent('WorkflowOpened', { tasks: [declared('scan'), declared('report', 'all')], ...control }, fields);

export const claimed = (epoch = 1, holder = `h${epoch}`): Envelope => holderEvent('LeaseClaimed', at(epoch, 1, holder));

export const revoked = (epoch = 1, holder = `h${epoch}`, fields: Fields = {}): Envelope =>
  inboxEvent('LeaseRevoked', { epoch, holder }, fields);
