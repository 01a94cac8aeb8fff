/**
 * Owns an effect of a fork that replays: intended and resolved in one append, with the outcome that its base recorded, and never called,
 * probed or recovered outside (I4 holds since nothing starts at all). What the base did not record stops the workflow for a person, who
 * may give the answer. Must not choose among records (see replay.ts).
 */

import type { ErrorNote } from '@tidemark/codec';
import {
  type EffectKey,
  type EffectState,
  type Json,
  NO_SPEND,
  type TaskId,
  TidemarkError,
  type WorkflowId,
} from '@tidemark/core';
import {
  type EffectContext,
  type EffectDefinition,
  EffectError,
  FatalError,
  ParkError,
  type Progress,
} from '../definition/index.ts';
import type { Recorded, Replay, StreamContent } from '../history/index.ts';
import type { Ports, RunGate } from '../kernel/index.ts';
import { digestOf, EFFECT_NOT_RECORDED } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';
import { type EffectCall, intendedDraft, notDoneDraft, resolvedDraft } from './effect-drafts.ts';
import { fitting, type RecoveryHost } from './effect-recovery.ts';

/** How an effect's call is made; tests put another in its place. */
export type CallEffect = (effect: EffectDefinition, request: Json, context: EffectContext) => Promise<unknown>;

/** What the journal needs of the runner that the step runs in. */
export interface JournalHost extends RecoveryHost {
  readonly ports: Pick<Ports, 'clock' | 'digest' | 'telemetry'>;
  readonly workflow: WorkflowId;
  readonly content: StreamContent;
  readonly callEffect: CallEffect;
  /** Effects that a dead holder left as done, and that nobody has asked the outside about since. */
  readonly unvalidated: Set<EffectKey>;
  readonly gate: RunGate;
  /** Counted, since each intention of a key under one lease is a span of its own. */
  wasIntended(key: EffectKey): void;
  /** Does the work within the span of the key's last intention. */
  withinCall<T>(key: EffectKey, work: () => T): T;
  /** Answers all effects, where the workflow is a fork that replays. */
  readonly replay?: Replay | undefined;
  /** Tells whoever watches how a call is getting on. */
  onProgress(progress: Progress): void;
  /** Names timers that this attempt sets: no two are alike in the stream. */
  timerName(): string;
  /** The task's journal as folded, own events included. */
  effectsOf(task: TaskId): readonly EffectState[];
  /** Checkpoint to reserve before the task's first effect; undefined when that is done. */
  reservation(task: TaskId): Draft | undefined;
  /** Durable and known to be accepted. */
  writeDurably(drafts: readonly Draft[]): Promise<void>;
  /** Goes out with the next flush, or within the staging delay. Rejects when nothing was written: it is too large. */
  writeStaged(drafts: readonly Draft[]): Promise<void>;
}

/** A failure as it was recorded; what is to be done after it is decided by the same name and code. */
class RecordedError extends TidemarkError {
  override readonly name: string;

  constructor({ name, code = 'effect-not-done', message }: ErrorNote) {
    super(code, message);
    this.name = name;
  }
}

/** Throws `EffectError` where the base recorded a failure, `ParkError` (`effect-not-recorded`, `response-unfit`). */
export async function replayedEffect(
  host: JournalHost,
  replay: Replay,
  { task, signal }: { readonly task: TaskId; readonly signal: AbortSignal },
  effect: EffectDefinition,
  key: EffectKey,
  request: Json,
): Promise<Json> {
  const own = host.content.journalOf(key);
  if (own?.status === 'done') return fitting(effect, key, own.response);
  const { operation, kind } = effect;
  const { digest } = host.ports;
  const recorded = await replay.find({ task, key, operation, requestDigest: digestOf(digest, request) });
  signal.throwIfAborted();
  const prepared = await effect.prepare?.(key, own?.status === 'intended' ? own.bundle : undefined);
  signal.throwIfAborted();

  const call: EffectCall = { task, key, operation, kind, request };
  const intended = intendedDraft(digest, call, effect.timeoutMs, prepared);
  const reserve = host.reservation(task);
  const drafts: Draft[] = reserve === undefined ? [] : [reserve];
  const isIntended = own?.status === 'intended' && recorded === undefined;
  if (!isIntended) drafts.push(recorded === undefined ? intended : naming(recorded, intended));
  if (recorded !== undefined) drafts.push(resolution(digest, call, effect, recorded));
  if (drafts.length > 0) await host.writeDurably(drafts);

  const bundle = prepared?.payload.bundle;
  host.content.journaled(key, { status: 'intended', request, ...(bundle && { bundle }) });
  if (recorded !== undefined) host.content.journaled(key, recorded.outcome, effect.spentOf !== undefined);
  await prepared?.confirm?.();
  if (recorded === undefined) throw notRecorded(replay, operation, key);
  if (recorded.outcome.status === 'failed') throw failure(effect, recorded.outcome.error);
  return fitting(effect, key, recorded.outcome.response);
}

const naming = ({ key }: Recorded, intended: Draft): Draft =>
  ({ ...intended, payload: { ...(intended.payload as object), replays: key } }) as Draft;

/** What was paid for a failure is not known from its record; nothing is paid for it here. */
const resolution = (
  digest: JournalHost['ports']['digest'],
  call: EffectCall,
  effect: EffectDefinition,
  { outcome }: Recorded,
): Draft =>
  outcome.status === 'done'
    ? resolvedDraft(digest, call, outcome.response, effect.spentOf)
    : notDoneDraft(digest, call, outcome.error, effect.lostOf && NO_SPEND);

const failure = ({ operation, retry }: EffectDefinition, note: ErrorNote): EffectError => {
  const cause = note.name === 'FatalError' ? new FatalError(note.message) : new RecordedError(note);
  return new EffectError(operation, retry, cause);
};

function notRecorded({ base }: Replay, operation: string, key: EffectKey): ParkError {
  const { workflow, sequence } = base;
  return new ParkError(
    EFFECT_NOT_RECORDED,
    `${operation} was asked for what ${workflow} never recorded after checkpoint ${sequence}, so there is no answer, and nothing is called. A person may give one (done), let it look again (retry), or end it (fail); a fork with live effects calls it.`,
    key,
    { operation, base: workflow, sequence },
  );
}
