/**
 * Owns what a run is judged by: pure functions over the final history, the ledger and what was seen on the way. Each returns
 * findings in words, with the workflow they are about; none means that the promise held. Tested on bad histories.
 */

import { isDeepStrictEqual } from 'node:util';
import { decodePayload } from '@tidemark/codec';
import type { EffectKind, Verdict } from '@tidemark/core';
import { checkChain, checkEffects, checkFencing, checkPositions } from '@tidemark/testkit/naive/checkers';
import type { Expected } from './expected.ts';
import type { Accepted, History } from './history.ts';
import type { LedgerEntry } from './ledger.ts';

export interface Finding {
  readonly workflow: string;
  readonly what: string;
}

export type Streams = ReadonlyMap<string, readonly Accepted[]>;
/** What each workflow that was started must come to. */
export type Expectations = ReadonlyMap<string, Expected>;

const NOTHING: readonly Accepted[] = [];
const UNFINISHED: ReadonlySet<string> = new Set(['open', 'unknown', 'compensating', 'parked']);

/** Checkpoints that were seen as acknowledged, and are not in the final chain as they were. */
export function lostCheckpoints(
  seen: ReadonlyMap<string, ReadonlyMap<number, string>>,
  ends: ReadonlyMap<string, string>,
  streams: Streams,
): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [workflow, heads] of seen) {
    const chain = chainOf(streams.get(workflow) ?? NOTHING);
    for (const [sequence, checkpoint] of heads) {
      const final = chain.get(sequence);
      if (final === checkpoint) continue;
      findings.push({ workflow, what: `checkpoint ${sequence} was seen as ${checkpoint} and is ${final ?? 'gone'}` });
    }
  }
  for (const [workflow, status] of ends) {
    const final = statusOf(streams.get(workflow) ?? NOTHING);
    if (final !== status) findings.push({ workflow, what: `its end was seen as ${status} and is ${final}` });
  }
  return findings;
}

function chainOf(events: readonly Accepted[]): ReadonlyMap<number, string> {
  const chain = new Map<number, string>();
  for (const { envelope } of events) {
    if (envelope.type === 'CheckpointCommitted') chain.set(envelope.control.sequence, envelope.control.checkpoint);
  }
  return chain;
}

/** Where a stream stands by its accepted events. */
export function statusOf(events: readonly Accepted[]): string {
  let status = events.length === 0 ? 'unknown' : 'open';
  for (const { envelope } of events) {
    if (envelope.type === 'WorkflowCompleted') status = 'completed';
    else if (envelope.type === 'WorkflowFailed') status = 'failed';
    else if (envelope.type === 'WorkflowTerminated') status = 'failed';
    else if (envelope.type === 'CancelRequested' && status === 'parked') status = 'open';
    else if (envelope.type === 'WorkflowParked') status = 'parked';
    else if (envelope.type === 'ApprovalDecided' && status === 'parked') status = 'open';
    else if (envelope.type === 'CompensationStarted') status = 'compensating';
    else if (envelope.type === 'CompensationFinished') status = envelope.control.outcome;
  }
  return status;
}

/** Actions that were applied more often than once, whatever their keys. */
export function duplicateEffects(ledger: readonly LedgerEntry[]): readonly Finding[] {
  const times = new Map<string, LedgerEntry[]>();
  for (const entry of ledger) times.set(entry.action, [...(times.get(entry.action) ?? []), entry]);
  return [...times].flatMap(([action, entries]) => {
    if (entries.length === 1) return [];
    const [first] = entries;
    const said = entries.map(({ key, pid, atMs }) => `${key} by ${pid} at ${new Date(atMs).toISOString()}`);
    const what = `${action} on ${first!.receiver} was applied ${entries.length} times: ${said.join('; ')}`;
    return [{ workflow: workflowOf(action), what }];
  });
}

const workflowOf = (action: string): string => action.slice(0, action.lastIndexOf('/'));

/** Workflows that ended otherwise than their input says, and actions that nobody should have taken. */
export function wrongOutputs(
  expectations: Expectations,
  streams: Streams,
  ledger: readonly LedgerEntry[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const allowed = new Map<string, string>();
  const order = new Map(ledger.map(({ action }, index) => [action, index]));
  for (const [workflow, expected] of expectations) {
    for (const { action, receiver } of expected.actions) allowed.set(action, receiver);
    const wrong = [...wrongEnd(expected, streams.get(workflow) ?? NOTHING), ...wrongOrder(expected, order)];
    findings.push(...wrong.map((what) => ({ workflow, what })));
  }
  for (const { action, receiver } of ledger) {
    if (allowed.get(action) === receiver) continue;
    findings.push({
      workflow: workflowOf(action),
      what: `${action} was applied on ${receiver}, which nobody asked for`,
    });
  }
  return findings;
}

/** No end at all is found elsewhere. */
function wrongEnd(expected: Expected, events: readonly Accepted[]): readonly string[] {
  const status = statusOf(events);
  if (UNFINISHED.has(status)) return [];
  if (status !== expected.end) return [`${status}${failureOf(events)} instead of ${expected.end}`];
  if (status !== 'completed') return [];
  const { payload } = events.find(({ envelope }) => envelope.type === 'WorkflowCompleted')!;
  const { output } = decodePayload('WorkflowCompleted', payload);
  if (isDeepStrictEqual(output, expected.output)) return [];
  return [`ended with ${JSON.stringify(output)} instead of ${JSON.stringify(expected.output)}`];
}

const failureOf = (events: readonly Accepted[]): string =>
  events
    .flatMap(({ envelope }) => (envelope.type === 'WorkflowFailed' ? [` with ${envelope.control.code}`] : []))
    .join();

function wrongOrder({ undone }: Expected, order: ReadonlyMap<string, number>): readonly string[] {
  const places = undone.flatMap((action) => order.get(action) ?? []);
  return places.every((place, index) => index === 0 || place > places[index - 1]!)
    ? []
    : [`was compensated in another order than the reverse: ${undone.join(', ')}`];
}

/** What the log holds as done and the ledger doesn't know: by key where a checkpoint says so, by action where an end does. */
export function falseCommits(
  expectations: Expectations,
  streams: Streams,
  ledger: readonly LedgerEntry[],
): readonly Finding[] {
  const keys = new Set(ledger.map((entry) => entry.key));
  const actions = new Set(ledger.map((entry) => entry.action));
  const findings: Finding[] = [];
  for (const [workflow, events] of streams) {
    for (const { sequence, key } of committedEffects(events)) {
      if (!keys.has(key))
        findings.push({ workflow, what: `checkpoint ${sequence} holds ${key}, which never happened` });
    }
    const expected = expectations.get(workflow);
    if (expected === undefined || statusOf(events) !== expected.end) continue;
    for (const { action } of expected.actions) {
      if (!actions.has(action)) findings.push({ workflow, what: `${expected.end} without ${action}` });
    }
  }
  return findings;
}

const LEAVES_PROCESS: ReadonlySet<EffectKind> = new Set(['idempotent', 'irreversible']);

/** Keys of effects outside that a checkpoint relies on as done. */
function committedEffects(events: readonly Accepted[]): { readonly sequence: number; readonly key: string }[] {
  const doneOf = new Map<string, Set<string>>();
  const found: { sequence: number; key: string }[] = [];
  for (const { envelope } of events) {
    if (envelope.type === 'EffectResolved') {
      const { task, key, kind, outcome } = envelope.control;
      const done = doneOf.get(task) ?? new Set();
      doneOf.set(task, done);
      if (outcome === 'done' && LEAVES_PROCESS.has(kind)) done.add(key);
    } else if (envelope.type === 'CheckpointCommitted') {
      const { task, sequence } = envelope.control;
      for (const key of doneOf.get(task) ?? []) found.push({ sequence, key });
    }
  }
  return found;
}

/** Workflows that did not end; those that wait for a person still are among them, since the run has one who decides. */
export function unfinished(starts: ReadonlyMap<string, unknown>, streams: Streams): readonly Finding[] {
  return [...starts.keys()].flatMap((workflow) => {
    const status = statusOf(streams.get(workflow) ?? NOTHING);
    return UNFINISHED.has(status) ? [{ workflow, what: `did not finish: ${status}` }] : [];
  });
}

/** Workflows that the recovery table handed to a person at any time, with the reason. */
export function handedToPerson(streams: Streams): readonly Finding[] {
  return [...streams].flatMap(([workflow, events]) => {
    const reasons = events.flatMap(({ envelope }) =>
      envelope.type === 'WorkflowParked' ? [`${envelope.control.code} (${envelope.control.key})`] : [],
    );
    return reasons.length === 0 ? [] : [{ workflow, what: reasons.join(', ') }];
  });
}

/** Invariants I2, I3 and I4 over what the naive fold accepted. */
export function brokenInvariants(history: History): readonly Finding[] {
  return history.flatMap((judged) => {
    const entries = judged.map(({ entry }) => entry);
    const verdicts: readonly Verdict[] = judged.map(({ verdict }) => verdict);
    return [checkChain, checkFencing, checkEffects, checkPositions].flatMap((check) =>
      check(entries, verdicts).map((what) => ({ workflow: what.slice(0, what.indexOf('/')), what })),
    );
  });
}
