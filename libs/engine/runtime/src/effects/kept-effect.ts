/**
 * Owns the effects of a reset that keeps what was done, or asks about it or about what an undo left. What the superseded history recorded as done answers the same request, in
 * one append of intention and outcome, and costs nothing again; or it is intended, and a person decides. It never calls anything.
 */

import { type Json, NO_SPEND } from '@tidemark/core';
import { type EffectDefinition, excerpt, ParkError } from '../definition/index.ts';
import { promptOf, type Recorded, type Replay } from '../history/index.ts';
import { EFFECT_DONE_BEFORE } from '../kernel/index.ts';
import { hasRule, otherAnswered } from './changed-request.ts';
import { type AskedCall, intendedDraft, resolvedDraft } from './effect-drafts.ts';
import { fitting } from './effect-recovery.ts';
import type { EffectRun } from './effect-run.ts';
import { naming, type ReplayTurn, recordOf } from './replayed-effect.ts';

/**
 * Undefined: nothing is recorded that stands for the call, or it was decided here before, so the call takes its usual way. Throws `ParkError`
 * (`effect-done-before`, `response-unfit`).
 */
export async function keptEffect(
  run: EffectRun,
  replay: Replay,
  call: AskedCall,
  turn: ReplayTurn,
): Promise<{ readonly response: Json } | undefined> {
  const { signal, order } = turn;
  const { content, flushing } = run.parts;
  const { effect, key, request, recorded: asked } = call;
  const own = run.effectsOf(asked.task).find((one) => one.key === key);
  if (own?.status === 'failed') await replay.settled(key);
  if (own !== undefined && (own.status !== 'intended' || !(await replay.isNamed(key)))) return undefined;
  const found = await recordOf(replay, call, turn);
  if (found === undefined || mayRepeat(effect, found)) return undefined;
  order.answeredBy(key, found.key);
  const { outcome } = found;
  const isSame = found.isChanged !== true || hasRule(effect);
  const isKept = isSame && outcome.status === 'done' && (replay.base.effects === 'keep' || isHarmless(effect));
  if (isKept && found.isChanged === true) otherAnswered(call, found.key, run.ports.telemetry, turn.warn);
  if (own === undefined) {
    const prepared = await effect.prepare?.(key, undefined, true);
    signal.throwIfAborted();
    const drafts = [naming(found, intendedDraft(call, prepared))];
    const spentOf = effect.spentOf && (() => NO_SPEND);
    if (isKept) drafts.push(resolvedDraft(run.ports.digest, asked, outcome.response, spentOf));
    await flushing.write(run.reserving(asked.task, ...drafts));
    content.journaled(key, { status: 'intended', request, ...promptOf(prepared?.payload) });
    if (isKept) content.journaled(key, outcome, effect.spentOf !== undefined);
    await prepared?.confirm?.();
  }
  if (!isKept) throw doneBefore(replay, call, found);
  return { response: fitting(call, outcome.response) };
}

/** Nobody needs to be asked: it changes nothing outside. */
export const isHarmless = ({ kind, spentOf, changesNothing = false }: EffectDefinition): boolean =>
  kind === 'pure' || spentOf !== undefined || changesNothing;

/** It was begun, and what became of it doesn't matter. */
const mayRepeat = (effect: EffectDefinition, { outcome }: Recorded): boolean =>
  outcome.status !== 'done' && isHarmless(effect);

function doneBefore({ base }: Replay, { key, request, effect: { operation } }: AskedCall, found: Recorded): ParkError {
  const { outcome } = found;
  const what = outcome.status === 'done' ? 'made this call' : 'may have made this call, and its outcome is unknown';
  return new ParkError(
    EFFECT_DONE_BEFORE,
    `${base.workflow} ${what} of ${operation} as ${found.key}, before it was reset. Answer done to keep its response, or not-done to call again.`,
    key,
    {
      ...{ operation, request: excerpt(request), base: base.workflow, recorded: found.key },
      ...(outcome.status === 'done' && { response: excerpt(outcome.response) }),
    },
  );
}
