/**
 * Owns what the family of a run is judged by: pure functions over the final history and the ledger. Each child runs once, is told of once and
 * is approved once; each slot of the schedule begins one run, and none is left out. Tested on bad histories.
 */

import { decodePayload } from '@tidemark/codec';
import type { Finding } from './checks.ts';
import type { History, Judged } from './history.ts';
import { type LedgerEntry, receiptOf } from './ledger.ts';

/** What the family of a run is. */
export interface FamilyStart {
  readonly parent: string;
  /** One for each child. */
  readonly amounts: readonly number[];
  readonly schedule: string;
  /** Distance of its slots, in milliseconds. */
  readonly periodMs: number;
  /** Runs that it began at the least. */
  readonly slotsMin: number;
}

type Events = readonly Judged[];

export const childrenOf = ({ parent, amounts }: FamilyStart): readonly string[] =>
  amounts.map((_, n) => `${parent}~1.${n}`);

/** Whether a workflow, or an action in the ledger, is one of the family's. */
export const isOfFamily = ({ parent, schedule }: FamilyStart, name: string): boolean =>
  [parent, schedule].includes(name) || name.startsWith(`${parent}~`) || name.startsWith(`${schedule}@`);

export function brokenFamily(start: FamilyStart, history: History, ledger: readonly LedgerEntry[]): readonly Finding[] {
  const streams = Map.groupBy(history.flat().filter(isAccepted), ({ entry }) =>
    entry.kind === 'event' ? (entry.envelope.workflow as string) : '',
  );
  const applied = Map.groupBy(ledger, ({ action }) => action);
  const about = (workflow: string) => ({
    workflow,
    events: streams.get(workflow) ?? [],
    timesOf: (action: string) => applied.get(`${workflow}/${action}`)?.length ?? 0,
  });
  const parent = about(start.parent);
  const children = childrenOf(start).map(about);
  const runs = [...streams.keys()].filter((id) => id.startsWith(`${start.schedule}@`)).map(about);
  const said = [
    ...brokenParent(start, parent),
    ...children.flatMap((child) => brokenChild(child, parent.events)),
    ...runs.flatMap((run) => [...brokenRun(run), ...notOnce('its effect was applied', run.timesOf('tick'), run)]),
  ];
  return [...said.map(([{ workflow }, what]) => ({ workflow, what })), ...brokenSlots(start, runs)];
}

interface About {
  readonly workflow: string;
  readonly events: Events;
  readonly timesOf: (action: string) => number;
}
type Problem = readonly [About, string];

const isAccepted = ({ verdict }: Judged): boolean => verdict.kind === 'accepted';

const eventsOf = (events: Events, type: string) =>
  events.flatMap(({ entry, partition }) =>
    entry.kind === 'event' && entry.envelope.type === type
      ? [{ control: entry.envelope.control as Readonly<Record<string, unknown>>, payload: entry.payload, partition }]
      : [],
  );

const notOnce = (what: string, times: number, of: About): readonly Problem[] =>
  times === 1 ? [] : [[of, `${what} ${times} times instead of once`]];

/**
 * It went on in one place, and ended once. After a loss of the database an opening may stand in a second partition, from a start that was under
 * way: nobody can claim that one.
 */
function brokenRun(of: About): readonly Problem[] {
  const places = new Set(eventsOf(of.events, 'LeaseClaimed').map(({ partition }) => partition));
  return [
    ...notOnce('it was begun in as many partitions:', places.size, of),
    ...notOnce('it was completed', eventsOf(of.events, 'WorkflowCompleted').length, of),
  ];
}

function brokenParent({ amounts, ...start }: FamilyStart, parent: About): readonly Problem[] {
  const [completed] = eventsOf(parent.events, 'WorkflowCompleted');
  if (completed === undefined) return brokenRun(parent);
  const total = childrenOf({ ...start, amounts })
    .flatMap((id, n) => [receiptOf(`${id}/before`, amounts[n]!), receiptOf(`${id}/after`, amounts[n]!)])
    .reduce((sum, receipt) => sum + receipt, 0);
  const expected = JSON.stringify({ reportedCount: amounts.length, total });
  const { output } = decodePayload('WorkflowCompleted', completed.payload);
  const { reportedCount, total: foundTotal } = output as { readonly reportedCount?: number; readonly total?: number };
  const found = JSON.stringify({ reportedCount, total: foundTotal });
  return [
    ...brokenRun(parent),
    ...(found === expected ? [] : [[parent, `it ended with ${found} instead of ${expected}`] as const]),
  ];
}

function brokenChild(child: About, parentEvents: Events): readonly Problem[] {
  const closings = eventsOf(parentEvents, 'ChildClosed').filter(({ control }) => control.child === child.workflow);
  const given = eventsOf(child.events, 'ApprovalGiven');
  const [completed] = eventsOf(child.events, 'WorkflowCompleted');
  const output =
    completed && (decodePayload('WorkflowCompleted', completed.payload).output as { readonly by?: string });
  const by = given[0]?.control.by;
  return [
    ...brokenRun(child),
    ...notOnce('its end was reported', closings.length, child),
    ...notOnce('it was approved', given.length, child),
    ...notOnce('its first effect was applied', child.timesOf('before'), child),
    ...notOnce('its second effect was applied', child.timesOf('after'), child),
    ...(output === undefined || output.by === by
      ? []
      : [[child, `it went on by ${output.by}, and ${by} approved it`] as const]),
  ];
}

/** From the first to the last none is missing, and there were enough to say so. */
function brokenSlots({ schedule, periodMs, slotsMin }: FamilyStart, runs: readonly About[]): readonly Finding[] {
  const slots = runs.map(({ workflow }) => Date.parse(workflow.slice(schedule.length + 1))).sort((a, b) => a - b);
  const gaps = slots.slice(1).flatMap((slotMs, at) => {
    const beforeMs = slots[at]!;
    return slotMs - beforeMs === periodMs ? [] : [`nothing began between ${iso(beforeMs)} and ${iso(slotMs)}`];
  });
  const few = slots.length >= slotsMin ? [] : [`only ${slots.length} runs began`];
  return [...gaps, ...few].map((what) => ({ workflow: schedule, what }));
}

const iso = (atMs: number): string => new Date(atMs).toISOString();
