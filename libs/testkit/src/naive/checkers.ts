/**
 * Owns checkers of invariants over a folded history: they watch accepted events and know nothing of how the fold decides. Each returns the
 * violations in words; none means that the invariant held. Tested on bad histories too.
 */

import type { Envelope, LogEntry, Verdict } from '@tidemark/core';

/** The accepted events of each stream, in order; a stream is a workflow and a generation. */
function acceptedByStream(entries: readonly LogEntry[], verdicts: readonly Verdict[]): Map<string, Envelope[]> {
  const streams = new Map<string, Envelope[]>();
  entries.forEach((entry, at) => {
    if (entry.kind !== 'event' || verdicts[at]?.kind !== 'accepted') return;
    if (entry.envelope.type === 'PartitionFenced') return;
    const { workflow, generation } = entry.envelope;
    const stream = `${workflow}/${generation}`;
    streams.set(stream, [...(streams.get(stream) ?? []), entry.envelope]);
  });
  return streams;
}

type Check = (stream: string, events: readonly Envelope[]) => string[];

const checker =
  (check: Check) =>
  (entries: readonly LogEntry[], verdicts: readonly Verdict[]): string[] =>
    [...acceptedByStream(entries, verdicts)].flatMap(([stream, events]) => check(stream, events));

/** I2: sequence 1..n, each the parent of the next. */
export const checkChain = checker((stream, events) => {
  const violations: string[] = [];
  let sequence = 0;
  let head: string | null = null;
  for (const event of events) {
    if (event.type !== 'CheckpointCommitted') continue;
    const { control } = event;
    if (control.sequence !== sequence + 1) violations.push(`${stream}: sequence ${control.sequence} after ${sequence}`);
    if (control.parent !== head) violations.push(`${stream}: parent of ${control.sequence} is not the head`);
    sequence = control.sequence;
    head = control.checkpoint;
  }
  return violations;
});

/** Events that end a lease besides a revoke. */
const ENDING = new Set([
  'LeaseReleased',
  'WorkflowCompleted',
  'WorkflowFailed',
  'WorkflowParked',
  'CompensationStarted',
]);

/** I3: one holder an epoch, nothing of an older epoch after a newer claim, and no hole in an epoch's ordinals. */
export const checkFencing = checker((stream, events) => {
  const violations: string[] = [];
  let live: { epoch: number; holder: string; ordinal: number } | null = null;
  let lastEpoch = 0;
  for (const event of events) {
    if (event.type === 'LeaseRevoked' || event.type === 'WorkflowTerminated') live = null;
    // Inbox events have no token.
    if (event.ordinal === 0) continue;
    const { epoch, holder, ordinal } = event;
    if (event.type === 'LeaseClaimed') {
      if (live !== null) violations.push(`${stream}: epoch ${epoch} claimed while ${live.epoch} is live`);
      if (epoch !== lastEpoch + 1) violations.push(`${stream}: epoch ${epoch} claimed after ${lastEpoch}`);
      live = { epoch, holder, ordinal: 0 };
      lastEpoch = epoch;
    }
    if (live === null) {
      violations.push(`${stream}: ${event.type} of epoch ${epoch} without a live lease`);
      continue;
    }
    if (epoch !== live.epoch) violations.push(`${stream}: ${event.type} of epoch ${epoch} in epoch ${live.epoch}`);
    if (holder !== live.holder) violations.push(`${stream}: ${event.type} by ${holder} in the epoch of ${live.holder}`);
    if (ordinal !== live.ordinal + 1) violations.push(`${stream}: ordinal ${ordinal} after ${live.ordinal}`);
    live = { ...live, ordinal };
    if (ENDING.has(event.type)) live = null;
  }
  return violations;
});

/**
 * I4: a call that was ever intended as more than pure is resolved only by an open intention, each intention has one outcome (the holder's,
 * a confirmation's or a person's), and a done effect is neither intended, awaited nor resolved again.
 */
export const checkEffects = checker((stream, events) => {
  const violations: string[] = [];
  const open = new Set<string>();
  const done = new Set<string>();
  const outside = new Set<string>();
  /** The effects that tokens and questions name. */
  const awaited = new Map<string, string>();
  let asked: { question: string; key: string } | null = null;
  const settle = (key: string, isDone: boolean): void => {
    open.delete(key);
    for (const [token, named] of awaited) if (named === key) awaited.delete(token);
    if (isDone) done.add(key);
  };
  for (const event of events) {
    if (event.type === 'WorkflowParked')
      asked = { question: event.id, key: `${event.control.task} ${event.control.key}` };
    if (event.type === 'EffectConfirmed') {
      const key = awaited.get(event.control.token);
      if (key === undefined) violations.push(`${stream}: ${event.control.token} confirmed, which nobody awaits`);
      else settle(key, event.control.outcome === 'done');
    }
    if (event.type === 'ApprovalDecided' && event.control.question === asked?.question) {
      const { resolution } = event.control;
      if (resolution !== 'done' && resolution !== 'not-done') continue;
      // A done outcome may be recorded as done again, when it was validated outside and no answer came.
      const isKnown = open.has(asked.key) || (resolution === 'done' && done.has(asked.key));
      if (!isKnown) violations.push(`${stream}: ${asked.key} decided without an open intention`);
      settle(asked.key, resolution === 'done');
    }
    if (event.type !== 'EffectIntended' && event.type !== 'EffectPending' && event.type !== 'EffectResolved') continue;
    // A key begins with its task; a history may name another one, which then has an effect of its own.
    const key = `${event.control.task} ${event.control.key}`;
    if (done.has(key)) violations.push(`${stream}: ${event.type} of ${key}, which is done`);
    if (event.type === 'EffectPending') {
      if (!open.has(key)) violations.push(`${stream}: ${key} is awaited without an open intention`);
      for (const [token, named] of awaited) if (named === key) awaited.delete(token);
      awaited.set(event.control.token, key);
      continue;
    }
    if (event.control.kind !== 'pure') outside.add(key);
    if (event.type === 'EffectIntended') {
      open.add(key);
      continue;
    }
    if (outside.has(key) && !open.has(key)) violations.push(`${stream}: ${key} resolved without an open intention`);
    settle(key, event.control.outcome === 'done');
  }
  return violations;
});

const CLOSING = new Set(['WorkflowCompleted', 'WorkflowFailed', 'WorkflowTerminated', 'CompensationFinished']);

/** Positions run 1, 2, 3 … and nothing is accepted after the end. */
export function checkPositions(entries: readonly LogEntry[], verdicts: readonly Verdict[]): string[] {
  const violations: string[] = [];
  const positions = new Map<string, number>();
  const ended = new Set<string>();
  entries.forEach((entry, at) => {
    const verdict = verdicts[at];
    if (entry.kind !== 'event' || verdict?.kind !== 'accepted') return;
    const { workflow, generation, type } = entry.envelope;
    if (type === 'PartitionFenced') return;
    const stream = `${workflow}/${generation}`;
    const expected = (positions.get(stream) ?? 0) + 1;
    if (verdict.position !== expected)
      violations.push(`${stream}: position ${verdict.position} instead of ${expected}`);
    if (ended.has(stream)) violations.push(`${stream}: ${type} accepted after the end`);
    positions.set(stream, verdict.position);
    if (CLOSING.has(type)) ended.add(stream);
  });
  return violations;
}
