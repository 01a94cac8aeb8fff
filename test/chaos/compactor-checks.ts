/**
 * Owns what the run that kills compactors is judged by: pure functions over what a witness saw in Kafka, what log and segments hold at the
 * end, and what reading through all tiers gives. Each returns findings in words; none means that the promise held. Tested on bad
 * histories.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Streams } from './checks.ts';

/** Digests of records that stand one after the other from `start` on. */
export interface Stretch {
  readonly start: number;
  readonly digests: readonly string[];
}

export interface ServedRecord {
  readonly offset: number;
  readonly digest: string;
}

/** By partition. */
export interface Evidence {
  /** Every record that Kafka acknowledged. */
  readonly witnessed: readonly Stretch[];
  /** What Kafka still has. */
  readonly log: readonly Stretch[];
  /** What sound segments hold, whose manifests lie end to end from offset 0. */
  readonly segments: readonly Stretch[];
  /** What was given to a reader through all tiers from offset 0 on, in the order in which it was. */
  readonly served: readonly (readonly ServedRecord[])[];
}

export type TierCheckName = 'lost_events' | 'doubled_events' | 'changed_events';
export type TierFindings = Readonly<Record<TierCheckName, readonly string[]>>;

const at = ({ start, digests }: Stretch, offset: number): string | undefined => digests[offset - start];
const NOTHING: Stretch = { start: 0, digests: [] };

export function checkTiers(evidence: Evidence): TierFindings {
  const findings = { lost_events: [], doubled_events: [], changed_events: [] } as Record<TierCheckName, string[]>;
  for (const [partition, witnessed] of evidence.witnessed.entries()) {
    const noteFor = (name: TierCheckName) => (offset: number, what: string) =>
      void findings[name].push(`${partition}/${offset} ${what}`);
    const places = { log: evidence.log[partition] ?? NOTHING, segments: evidence.segments[partition] ?? NOTHING };
    const served = evidence.served[partition] ?? [];
    checkLost(witnessed, places, served, noteFor('lost_events'));
    checkDoubled(witnessed, served, noteFor('doubled_events'));
    checkChanged(witnessed, places, served, noteFor('changed_events'));
  }
  return findings;
}

type Note = (offset: number, what: string) => void;
type Places = Readonly<Record<'log' | 'segments', Stretch>>;

/** In no tier, or in one, and yet not given to whoever reads all of them. */
function checkLost(witnessed: Stretch, { log, segments }: Places, served: readonly ServedRecord[], note: Note): void {
  const given = new Set(served.map(({ offset }) => offset));
  for (const index of witnessed.digests.keys()) {
    const offset = witnessed.start + index;
    if (at(log, offset) === undefined && at(segments, offset) === undefined) note(offset, 'is in no tier');
    else if (!given.has(offset)) note(offset, 'is stored, and was not given');
  }
}

/** Given twice, or given and never acknowledged. */
function checkDoubled(witnessed: Stretch, served: readonly ServedRecord[], note: Note): void {
  const given = new Set<number>();
  for (const { offset } of served) {
    if (given.has(offset)) note(offset, 'was given twice');
    else if (at(witnessed, offset) === undefined) note(offset, 'was given, and never acknowledged');
    given.add(offset);
  }
}

function checkChanged(witnessed: Stretch, places: Places, served: readonly ServedRecord[], note: Note): void {
  const check = (where: string, offset: number, digest: string): void => {
    const expected = at(witnessed, offset);
    if (expected !== undefined && expected !== digest) note(offset, `has other bytes ${where}`);
  };
  for (const [where, { start, digests }] of Object.entries(places)) {
    for (const [index, digest] of digests.entries()) check(`in ${where}`, start + index, digest);
  }
  for (const { offset, digest } of served) check('as it was given', offset, digest);
}

/** Events of a workflow that count twice in its accepted history. */
export function doubledAccepted(streams: Streams): readonly string[] {
  const findings: string[] = [];
  for (const [workflow, events] of streams) {
    const seen = new Set<string>();
    for (const { envelope, offset } of events) {
      if (seen.has(envelope.id))
        findings.push(`${workflow}: ${envelope.type} ${envelope.id} counts again at ${offset}`);
      seen.add(envelope.id);
    }
  }
  return findings;
}

/** Rows of one workflow, by kind. */
export type WorkflowRows = Readonly<Record<string, unknown>>;

/** Rows that were put back, and are not those of a fresh fold. */
export function restoredOtherwise(
  restored: ReadonlyMap<string, WorkflowRows>,
  fresh: ReadonlyMap<string, WorkflowRows>,
): readonly string[] {
  return [...restored].flatMap(([workflow, rows]) => {
    const expected = fresh.get(workflow);
    if (expected === undefined) return [`${workflow} is unknown to a fresh fold`];
    return Object.keys({ ...rows, ...expected }).flatMap((kind) =>
      isDeepStrictEqual(rows[kind], expected[kind]) ? [] : [`${workflow}: its ${kind} differ from a fresh fold's`],
    );
  });
}
