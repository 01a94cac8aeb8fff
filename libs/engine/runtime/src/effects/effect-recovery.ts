/**
 * Owns the recovery of an effect that was begun before, by a holder that is gone or by an attempt that failed. It probes the outside and
 * follows the recovery table (core/recovery.ts); nothing else decides.
 *
 * E1 An irreversible call counts as not made only once a late call of the holder that intended it can't arrive any more.
 * E2 A holder that fell silent, and isn't known to be gone, may make its call at any time: what no probe fences, a person decides.
 */

import {
  type EffectKey,
  type EffectState,
  type Json,
  type ProbeAnswer,
  type RecoveryAction,
  recoveryAction,
} from '@tidemark/core';
import {
  CompensateError,
  type EffectDefinition,
  errorNote,
  excerpt,
  ParkError,
  ProbeError,
  type ProbeResult,
} from '../definition/index.ts';
import { answerInTime } from './effect-call.ts';
import type { AskedCall } from './effect-drafts.ts';
import type { EffectRun } from './effect-run.ts';
import type { Use } from './effect-uses.ts';
import { CALL_WINDOW_MS } from './limits.ts';

export interface RecoveredEffect extends Omit<AskedCall, 'recorded'> {
  readonly left: EffectState;
}

/**
 * - `done`: the call happened, and this is its response.
 * - `valid`: what the log recorded still holds.
 * - `call`: the call is to be made, with the same key; `isClear`: no earlier call was done.
 * - `wait`: the confirmation is still outstanding.
 */
export type Recovered =
  | { readonly kind: 'done'; readonly response: Json }
  | { readonly kind: 'valid' }
  | { readonly kind: 'call'; readonly isClear: boolean }
  | { readonly kind: 'wait'; readonly answer: ProbeAnswer };

/**
 * Probes the effect and follows the recovery table. Throws `CompensateError` or `ParkError` if the table leads there, and `ProbeError` if
 * the probe fails.
 */
export async function recoverEffect(run: EffectRun, signal: AbortSignal, found: RecoveredEffect): Promise<Recovered> {
  const { effect } = found;
  const answer = await finalAnswer(run, signal, found);
  const action = actionOf(run, found, answer.status, mayStillCall(found, answer.status));
  run.ports.telemetry.count('recovery_attempts_total', 1, { action: METRIC_OF[action], operation: effect.operation });
  switch (action) {
    case 'go-on':
      return { kind: 'valid' };
    case 'record-done':
      return { kind: 'done', response: arrived(effect, answer.status === 'done' ? answer.response : null) };
    case 'call-again':
      return { kind: 'call', isClear: isClear(found, answer.status) };
    case 'await-confirmation':
      return { kind: 'wait', answer: answer.status };
    case 'compensate':
    case 'ask-person':
      if (found.left.status === 'done') {
        run.ports.telemetry.count('effect_validation_failures_total', 1, { operation: effect.operation });
      }
      throw undecided(found, answer.status, action, actionOf(run, found, answer.status, false) !== action);
  }
}

const METRIC_OF = {
  'go-on': 'replay',
  'record-done': 'replay',
  'call-again': 'replay',
  'await-confirmation': 'replay',
  compensate: 'compensate',
  'ask-person': 'fail',
} as const;

type Answer = ProbeResult<unknown> | { readonly status: 'none' };

/**
 * The probe's answer. If the call is irreversible and the table would repeat or compensate it, this waits until no late call can arrive any
 * more, and probes again (E1).
 */
async function finalAnswer(run: EffectRun, signal: AbortSignal, found: RecoveredEffect): Promise<Answer> {
  const { effect, key, left } = found;
  const answer = await ask(run, signal, found);
  if (left.status !== 'intended' || left.kind !== 'irreversible' || answer.status === 'done') return answer;
  // A person's decision takes longer than any late call. A silent holder may well have come back by then, and its call have arrived.
  if (isFenced(effect, answer.status) || actionOf(run, found, answer.status, false) === 'ask-person') return answer;
  const waitMs = CALL_WINDOW_MS + Math.max(left.timeoutMs, effect.timeoutMs);
  // That its worker is dead doesn't shorten it: what the call had sent may still be on its way to the receiver.
  run.parts.onWait(
    `waits ${Math.ceil(waitMs / 1_000)} s: until then the call ${key}, which an earlier worker began, may still arrive`,
  );
  await run.ports.clock.sleep(waitMs, signal);
  signal.throwIfAborted();
  return ask(run, signal, found);
}

/** Whether no call of the key that was begun before has been done, or can be. */
const isClear = ({ effect, left }: RecoveredEffect, answer: ProbeAnswer): boolean =>
  answer === 'not-done' && (left.silentHolders === undefined || isFenced(effect, answer));

const isFenced = ({ probeFences }: EffectDefinition, answer: ProbeAnswer): boolean =>
  answer === 'not-done' && probeFences === true;

/** Whether a silent holder may make the call after this answer (E2). */
export const mayStillCall = (
  {
    effect,
    left,
  }: { readonly effect: EffectDefinition | undefined; readonly left: Pick<EffectState, 'silentHolders'> },
  answer: ProbeAnswer,
): boolean =>
  left.silentHolders !== undefined &&
  effect?.afterSilence !== 'call' &&
  (effect === undefined || !isFenced(effect, answer));

const actionOf = (
  run: EffectRun,
  { effect, left: { status, kind } }: RecoveredEffect,
  answer: ProbeAnswer,
  mayStillCall: boolean,
): RecoveryAction => {
  const mayCompensate = run.mayCompensate(effect, status === 'done' ? 'done' : 'unknown');
  return recoveryAction({ status, kind, answer, mayCompensate, mayStillCall });
};

async function ask(run: EffectRun, signal: AbortSignal, { effect, key, request }: RecoveredEffect): Promise<Answer> {
  const { probe, operation, timeoutMs } = effect;
  if (probe === undefined) return { status: 'none' };
  try {
    const limits = { what: `The probe of ${operation}`, timeoutMs };
    return await answerInTime(run.ports.clock, signal, limits, (asked) =>
      probe(sentKey({ effect, key, request }), { signal: asked.signal, request: effect.asked ?? request }),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw new ProbeError(effect, key, run.hideSecrets(operation, error));
  }
}

/** The key that the receiver knows. */
export const sentKey = ({ effect, key, request }: Omit<AskedCall, 'recorded'>): EffectKey =>
  (effect.sentKey?.(key, effect.asked ?? request) ?? key) as EffectKey;

/** Names every process that must have ended before a person answers. */
function silentWords({ key, silentHolders = [], hasMoreSilent }: EffectState, said: string): string {
  if (silentHolders.length === 1) {
    return `Worker ${silentHolders[0]} fell silent in effect ${key}, isn't known to have ended, and may still make the call (${said}). End that process, or make sure that it has ended`;
  }
  const more = hasMoreSilent === true ? ', and later ones that the log names (LeaseRevoked, silent),' : '';
  return `Workers ${silentHolders.join(', ')}${more} fell silent in effect ${key}, aren't known to have ended, and may each still make the call (${said}). End all of these processes, or make sure that they have ended`;
}

/** `isHeld`: only because the holder that intended the call fell silent. */
function undecided(
  { effect, key, request, left }: RecoveredEffect,
  answer: ProbeAnswer,
  action: 'compensate' | 'ask-person',
  isHeld: boolean,
): CompensateError | ParkError {
  const isResolved = left.status === 'done';
  const code = isResolved ? 'effect-invalid' : 'effect-unknown';
  const said = answer === 'none' ? 'it has no probe' : `its probe says '${answer}'`;
  const what = isResolved
    ? `Effect ${key} is recorded as done, but ${said}.`
    : `Effect ${key} was intended, and whether it happened is unknown: ${said}. It can't be repeated harmlessly.`;
  const evidence = { operation: effect.operation, request: excerpt(request), probe: answer };
  if (action === 'compensate') return new CompensateError(code, `${what} The workflow is compensated.`, key, evidence);
  const { silentHolders } = left;
  if (isResolved || silentHolders === undefined) {
    return new ParkError(code, `${what} A person must decide.`, key, evidence);
  }
  const ask = isHeld
    ? "answer with retry, and the probe decides. No person is needed where the probe fences the key (probeFences), the receiver deduplicates by key (kind idempotent), or the definition takes the risk (afterSilence: 'call')."
    : "decide whether the call took place: it can't be repeated harmlessly.";
  return new ParkError(isHeld ? 'caller-silent' : code, `${silentWords(left, said)}; then ${ask}`, key, {
    ...evidence,
    silentWorkers: silentHolders,
  });
}

/** Parses the answer of a call or a probe, and converts it into what is recorded. */
export function arrived(effect: EffectDefinition, answer: unknown): Json {
  const response = effect.parseResponse(answer);
  return effect.recorded === undefined ? response : effect.recorded(response);
}

/**
 * Parses a recorded response, which may come from a person, a web hook or an older version. Throws `ParkError` (`response-unfit`) if it
 * doesn't fit, so that a person can correct it.
 */
export function fitting({ effect, key }: AskedCall, known: Json): Json {
  try {
    return effect.parseResponse(known);
  } catch (error) {
    const message = `Effect ${key} is done, and what is recorded as its response doesn't fit: ${errorNote(error).message} A person may give the right one (done), or fix the schema and answer with retry.`;
    throw new ParkError('response-unfit', message, key, { operation: effect.operation, response: excerpt(known) });
  }
}

/** Code: nothing that is recorded tells two calls of the step apart. */
export const CALLS_UNORDERED = 'calls-unordered';

export const unordered = (what: string, { operation }: Use, why: string): ParkError =>
  new ParkError(
    CALLS_UNORDERED,
    `Calls of ${what} in one step can't be told apart: ${why}, so another attempt could give one the result of another. Give each a name of its own: { name: … }.`,
    null,
    { operation },
  );
