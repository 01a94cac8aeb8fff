/**
 * Payloads of signals that nobody has waited for yet: the next checkpoint may give them to a task. They are not part of the snapshot of the
 * streams, since few streams have any, and an event's payload never changes. Inputs: workflows and their events, in step. Locks: none.
 * Index: events_inbox; `offset 0` keeps the planner from turning the loop round. Cost: 0.4 ms for 100.
 */

import type { EventId, WorkflowId } from '@tidemark/core';
import type { RecordPlace, StreamSnapshot } from '@tidemark/ports';
import { texts } from '../binary-array.ts';
import { placeAt, type Rows, type Statement, textAt } from '../sql-client.ts';

const text = `
select wanted.workflow, wanted.event, e.payload
from unnest($1::text[], $2::text[]) as wanted (workflow, event)
cross join lateral (
  select payload from events
  where workflow = wanted.workflow and epoch = 0
    and hashtextextended(event, 0) = hashtextextended(wanted.event, 0) and event = wanted.event
  offset 0
) e`;

interface Waiting {
  readonly workflow: WorkflowId;
  readonly event: EventId;
}

/** Signals that wait, by the states of the snapshots. */
export const signalsOf = (snapshots: readonly StreamSnapshot<RecordPlace>[]): readonly Waiting[] =>
  snapshots.flatMap(({ workflow, state }) => {
    if (!state.includes('"signals":[{')) return [];
    const { signals } = JSON.parse(state) as { readonly signals: readonly Pick<Waiting, 'event'>[] };
    return signals.map(({ event }) => ({ workflow, event }));
  });

export const loadSignals = (signals: readonly Waiting[]): Statement => ({
  name: 'load-signals',
  text,
  values: [texts(signals, ({ workflow }) => workflow), texts(signals, ({ event }) => event)],
});

/** Returns the snapshots with those payloads among their causes. */
export function withSignals(
  snapshots: readonly StreamSnapshot<RecordPlace>[],
  rows: Rows,
): readonly StreamSnapshot<RecordPlace>[] {
  const found = new Map<string, StreamSnapshot<RecordPlace>['causes'][number][]>();
  for (const row of rows) {
    const workflow = textAt(row, 0);
    const causes = found.get(workflow) ?? [];
    causes.push({ event: textAt(row, 1) as EventId, payload: placeAt(row, 2) });
    found.set(workflow, causes);
  }
  return snapshots.map((one) => {
    const causes = found.get(one.workflow);
    return causes === undefined ? one : { ...one, causes: [...one.causes, ...causes] };
  });
}
