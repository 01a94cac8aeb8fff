/**
 * Owns the effects of a fork that replays. It intends and resolves each in one append, with the outcome that the fork's base recorded, and
 * never calls, probes or recovers anything outside (I4 holds since no call starts). If the base recorded no outcome, the workflow is parked
 * for a person, who may give one. It does not choose among records (see replay.ts).
 */

import type { ErrorNote } from '@tidemark/codec';
import { type Json, NO_SPEND, TidemarkError } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { type EffectDefinition, EffectError, FatalError, ParkError } from '../definition/index.ts';
import { promptOf, type Recorded, type Replay } from '../history/index.ts';
import { EFFECT_NOT_RECORDED } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';
import { isInOrder, isSamePlace } from './call-path.ts';
import { hasRule, otherAnswered } from './changed-request.ts';
import { type AskedCall, intendedDraft, notDoneDraft, resolvedDraft } from './effect-drafts.ts';
import { fitting } from './effect-recovery.ts';
import type { EffectRun, LogDetail } from './effect-run.ts';
import type { OutcomeOrder } from './outcome-order.ts';

/** A recorded failure, with the name and code by which its policy decides about a retry. */
class RecordedError extends TidemarkError {
  override readonly name: string;

  constructor({ name, code = 'effect-not-done', message }: ErrorNote) {
    super(code, message);
    this.name = name;
  }
}

/** What a replayed call has of its attempt. */
export interface ReplayTurn {
  readonly signal: AbortSignal;
  readonly order: OutcomeOrder;
  /** Whether the step makes no call beside it. */
  readonly isAlone: () => Promise<boolean>;
  readonly warn: (about: LogDetail) => void;
}

/** The base's record that stands for the call, whether or not it asked the same. */
export async function recordOf(replay: Replay, call: AskedCall, turn: ReplayTurn): Promise<Recorded | undefined> {
  const found = await replay.find(call.recorded);
  if (found !== undefined || !(await turn.isAlone())) return found;
  const { place } = call;
  return replay.findChanged(call.recorded, (isSameKey, intended) =>
    place === undefined
      ? isSameKey && intended.place === undefined
      : isSamePlace(place, intended.place) && isInOrder(place) && isInOrder(intended.place),
  );
}

/**
 * Returns the recorded response. Throws `EffectError` if the base recorded a failure, and `ParkError` (`effect-not-recorded`,
 * `response-unfit`).
 */
export async function replayedEffect(run: EffectRun, replay: Replay, call: AskedCall, turn: ReplayTurn): Promise<Json> {
  const { signal, order } = turn;
  const { content, flushing } = run.parts;
  const { effect, key, request } = call;
  const own = content.journalOf(key);
  if (own?.status === 'done') return fitting(call, own.response);
  const found = await recordOf(replay, call, turn);
  const recorded = found?.isChanged === true && !hasRule(effect) ? undefined : found;
  if (recorded !== undefined) order.answeredBy(key, recorded.key);
  if (recorded?.isChanged === true) otherAnswered(call, recorded.key, run.ports.telemetry, turn.warn);
  signal.throwIfAborted();
  const prepared = await effect.prepare?.(key, own?.status === 'intended' ? own : undefined);
  signal.throwIfAborted();

  const intended = intendedDraft(call, prepared);
  const drafts: Draft[] = [];
  const isIntended = own?.status === 'intended' && recorded === undefined;
  if (!isIntended) drafts.push(recorded === undefined ? intended : naming(recorded, intended));
  if (recorded !== undefined) drafts.push(resolution(run.ports.digest, call, recorded));
  if (drafts.length > 0) await flushing.write(run.reserving(call.recorded.task, ...drafts));

  content.journaled(key, { status: 'intended', request, ...promptOf(prepared?.payload) });
  if (recorded !== undefined) content.journaled(key, recorded.outcome, effect.spentOf !== undefined);
  await prepared?.confirm?.();
  if (recorded === undefined) throw notRecorded(replay, call);
  const { outcome } = recorded;
  if (outcome.status === 'failed') throw failure(effect, outcome.error);
  return fitting(call, outcome.status === 'done' ? outcome.response : null);
}

/** The intention, with the record that stands for the call. */
export const naming = ({ key }: Recorded, intended: Draft): Draft =>
  ({ ...intended, payload: { ...(intended.payload as object), replays: key } }) as Draft;

/** A failure's record does not say what it cost, so nothing is charged for it here. */
const resolution = (digest: Digest, { recorded, effect }: AskedCall, { outcome }: Recorded): Draft =>
  outcome.status === 'failed'
    ? notDoneDraft(digest, recorded, outcome.error, effect.lostOf && NO_SPEND)
    : resolvedDraft(digest, recorded, outcome.status === 'done' ? outcome.response : null, effect.spentOf);

const failure = (effect: EffectDefinition, note: ErrorNote): EffectError => {
  const cause = note.name === 'FatalError' ? new FatalError(note.message) : new RecordedError(note);
  return new EffectError(effect, cause, true);
};

function notRecorded({ base }: Replay, { key, effect: { operation } }: AskedCall): ParkError {
  const { workflow, sequence } = base;
  return new ParkError(
    EFFECT_NOT_RECORDED,
    `${workflow} recorded no such call of ${operation} after checkpoint ${sequence}, so its replay has no response, and calls nothing. A person may give one (done), have the record read again (retry), or fail it (fail); a fork with live effects calls it.`,
    key,
    { operation, base: workflow, sequence },
  );
}
