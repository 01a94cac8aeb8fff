/**
 * Owns the recovery of shadows: it rebuilds state and content of observed runs from the log alone, event by event, as a recovery would, and
 * compares them with what the agent reported at each step. Rows only tell where in the log to begin. It writes nothing.
 */

import { decodePayload, entryOf } from '@tidemark/codec';
import {
  type Envelope,
  type EventEntry,
  emptyPartition,
  foldEntry,
  foldRecord,
  type Generation,
  isClosed,
  type Json,
  messageOf,
  type Offset,
  type Partition,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { REPORT_STEP } from '../definition/index.ts';
import { StreamContent } from '../history/index.ts';
import { digestOf, type Ports } from '../kernel/index.ts';
import { differingPaths, fingerprint, type Observation, observationIn, REPORTED_OTHERWISE } from './shadow-observed.ts';

/** Bytes of one read of the log by a comparison. */
const SHADOW_READ_MAX_BYTES = 8_388_608;

/** A difference between what the log rebuilds and what the agent reported. */
export interface ShadowDifference {
  readonly workflow: WorkflowId;
  /** Sequence of the checkpoint; 0: the opening. */
  readonly sequence: number;
  /** `belief.total`, `frontier`, `output`, `input`, `report`, `definition`, `log`. */
  readonly path: string;
  readonly what: string;
}

/** One run, rebuilt. */
export interface RebuiltRun {
  readonly workflow: WorkflowId;
  readonly state: StreamState;
  readonly belief: Json;
  /** Null while it is open, or if it failed. */
  readonly output: Json;
  /** Compared checkpoints. */
  readonly comparedCount: number;
  readonly lostCount: number;
  readonly differences: readonly ShadowDifference[];
}

/** Where a run begins in the log. */
export interface RunPlace {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  readonly generation: Generation;
  readonly offset: Offset;
}

/** Rebuilds the runs of one partition, in one pass over it. Skips runs that are no shadows. */
export async function rebuildRuns(
  { log, digest }: Pick<Ports, 'log' | 'digest'>,
  places: readonly RunPlace[],
): Promise<readonly RebuiltRun[]> {
  const [first] = places;
  if (first === undefined) return [];
  const { partition } = first;
  const rebuilds = new Map(places.map((place) => [place.workflow, new Rebuild(place, digest)]));
  const end = (await log.bounds([partition])).get(partition)?.end ?? 0;
  for (let from = Math.min(...places.map(({ offset }) => offset)) as Offset; from < end; ) {
    const [result] = await log.read([{ partition, from }], { maxBytes: SHADOW_READ_MAX_BYTES });
    const records = result?.records ?? [];
    if (records.length === 0) break;
    for (const record of records) {
      const entry = entryOf(record);
      if (entry.kind === 'event') rebuilds.get(entry.envelope.workflow)?.follow(entry, record.offset);
      else if (entry.kind === 'unknown') rebuilds.get(entry.workflow)?.stopAt(entry.type);
    }
    from = (records.at(-1)!.offset + 1) as Offset;
  }
  return [...rebuilds.values()].flatMap((rebuild) => rebuild.result() ?? []);
}

/** The fold and content of one run, and the differences found. */
class Rebuild {
  readonly #place: RunPlace;
  readonly #digest: Digest;
  readonly #content = new StreamContent();
  readonly #differences: ShadowDifference[] = [];
  #state: StreamState | undefined;
  #output: Json = null;
  #ending: Observation | undefined;
  /** Checkpoints by the keys of their reports, and keys that were reported again differently. */
  readonly #sequences = new Map<string, number>();
  readonly #contradicted: string[] = [];
  #comparedCount = 0;
  #lostCount = 0;
  #isStopped = false;

  constructor(place: RunPlace, digest: Digest) {
    this.#place = place;
    this.#digest = digest;
  }

  follow(entry: EventEntry, offset: Offset): void {
    if (this.#isStopped) return;
    try {
      if (this.#state === undefined) this.#open(entry, offset);
      else this.#fold(this.#state, entry, offset);
    } catch (error) {
      this.#differ('log', `can't be rebuilt: ${messageOf(error)}`);
      this.#isStopped = true;
    }
  }

  /** A newer process wrote an event that this one can't read. */
  stopAt(type: string): void {
    if (this.#state === undefined || this.#isStopped) return;
    this.#differ('log', `holds a ${type} that this version can't read`);
    this.#isStopped = true;
  }

  result(): RebuiltRun | undefined {
    if (this.#state?.shadow !== true) return undefined;
    // Reported last, because the contradiction may have been recorded before the first report was accepted.
    for (const key of this.#contradicted.splice(0)) {
      this.#differ(
        'report',
        `step '${key}' was reported a second time, and not as the first time`,
        this.#sequences.get(key),
      );
    }
    return {
      workflow: this.#place.workflow,
      state: this.#state,
      belief: this.#content.belief,
      output: this.#output,
      comparedCount: this.#comparedCount,
      lostCount: this.#lostCount,
      differences: this.#differences,
    };
  }

  #differ(path: string, what: string, sequence: number = this.#state?.head.sequence ?? 0): void {
    this.#differences.push({ workflow: this.#place.workflow, sequence, path, what });
  }

  #open(entry: EventEntry, offset: Offset): void {
    const { partition, generation } = this.#place;
    if (offset < this.#place.offset || entry.envelope.type !== 'WorkflowOpened' || entry.problem) return;
    const before = { ...emptyPartition(partition, offset), generation: (generation - 1) as Generation };
    const { state } = foldEntry(before, entry);
    this.#state = state.streams.get(this.#place.workflow);
    if (this.#state === undefined) return;
    if (!this.#state.shadow) this.#isStopped = true;
    this.#content.apply(entry.envelope, entry.payload);
  }

  #fold(before: StreamState, entry: EventEntry, offset: Offset): void {
    const { envelope, payload } = entry;
    const { stream, verdict } = foldRecord(before, entry, offset);
    if (verdict.kind !== 'accepted') return;
    if (envelope.type === 'CheckpointCommitted') {
      const task = before.frontier.tasks.get(envelope.control.task);
      const given = this.#content.inputOf(envelope.control.task);
      this.#state = stream;
      this.#content.apply(envelope, payload);
      this.#compare(envelope, payload, task?.step, given);
      return;
    }
    this.#state = stream;
    this.#content.apply(envelope, payload);
    if (envelope.type === 'SignalReceived' && envelope.control.name === REPORTED_OTHERWISE)
      this.#contradiction(envelope);
    if (envelope.type === 'WorkflowCompleted') this.#compareEnd(decodePayload(envelope.type, payload).output);
    else if (isClosed(stream) && this.#ending === undefined)
      this.#differ('log', 'ended by something else than a report');
  }

  #contradiction({ id }: Envelope<'SignalReceived'>): void {
    const value = this.#content.causeOf(id) as { readonly key?: string } | null;
    this.#contradicted.push(value?.key ?? '');
  }

  #compare(
    envelope: Envelope<'CheckpointCommitted'>,
    payload: Uint8Array,
    announced: string | undefined,
    given: Json,
  ): void {
    const { control } = envelope;
    const stored = decodePayload('CheckpointCommitted', payload);
    const seen = observationIn(stored.log);
    if (seen === undefined) {
      this.#differ('report', 'no report of the agent belongs to this checkpoint');
      return;
    }
    this.#comparedCount++;
    this.#sequences.set(seen.key, control.sequence);
    this.#lostCount += seen.lostCount;
    const isEnd = control.step === REPORT_STEP;
    if (isEnd) this.#ending = seen;
    if (seen.misfit !== null) this.#differ('definition', `${seen.misfit.code}: ${seen.misfit.message}`);
    if (announced === REPORT_STEP && !isEnd) this.#differ('frontier', `'${control.step}' was done and was not pending`);
    else if (!isEnd && control.inputDigest !== digestOf(this.#digest, given)) {
      this.#differ('input', `'${control.step}' was done with another input than it was added with`);
    }
    this.#compareBelief(seen);
    this.#comparePending(seen);
    if (!isEnd && seen.output !== null && seen.output !== digestOf(this.#digest, stored.output)) {
      this.#differ('output', `of '${control.step}' is not what the agent said`);
    }
  }

  #compareBelief(seen: Observation): void {
    if (seen.belief === null) return;
    const rebuilt = fingerprint(this.#content.belief, this.#digest);
    for (const path of differingPaths(seen.belief, rebuilt, 'belief')) {
      this.#differ(path, 'is not what the agent had');
    }
  }

  #comparePending(seen: Observation): void {
    if (seen.pending === null) return;
    const rebuilt = this.#pending();
    if (rebuilt.join('\n') === seen.pending.join('\n')) return;
    this.#differ('frontier', `has ${list(rebuilt)} pending, the agent had ${list(seen.pending)}`);
  }

  #pending(): readonly string[] {
    const steps = [...(this.#state?.frontier.tasks ?? [])].map(({ step }) => step);
    return steps.filter((step) => step !== REPORT_STEP).sort();
  }

  #compareEnd(output: Json): void {
    this.#output = output;
    if (this.#ending === undefined) {
      this.#differ('log', 'ended by something else than a report');
      return;
    }
    if (this.#ending.output !== digestOf(this.#digest, output))
      this.#differ('output', 'is not what the agent ended with');
    const left = this.#pending();
    if (left.length > 0) this.#differ('frontier', `the agent ended with ${list(left)} pending`);
  }
}

const list = (steps: readonly string[]): string => (steps.length === 0 ? 'nothing' : steps.join(', '));
