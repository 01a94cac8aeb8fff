/**
 * Owns what is written while an effect that was accepted outside waits for its confirmation: its timers, and the question to a person when
 * no confirmation came in time. It neither waits nor calls.
 */

import { NAME_MAX_CHARS, toJson } from '@tidemark/codec';
import { InvalidError, type Json, type ProbeAnswer, type Retry } from '@tidemark/core';
import { type EffectDefinition, excerpt, ParkError, type PendingResult } from '../definition/index.ts';
import type { Draft } from '../lease/index.ts';
import type { AskedCall } from './effect-drafts.ts';
import type { EffectRun } from './effect-run.ts';

export interface Wait {
  readonly token: string;
  readonly deadline: Retry;
  readonly detail: Json;
}

/** The wait that begins when a call answers with `pending`. */
export const firstWait = (
  run: EffectRun,
  { operation, confirm }: EffectDefinition,
  { token, detail }: PendingResult,
): Wait => ({
  token,
  deadline: { timer: `overdue:${run.timerName()}`, anchorMs: run.ports.clock.nowMs(), delayMs: confirm.timeoutMs },
  detail: toJson(detail, `detail of pending ${operation}`),
});

/** The event that makes the effect wait for a confirmation, its next probe or its deadline, whichever comes first. */
export function pendingDraft(
  run: EffectRun,
  { effect: { probe, confirm }, recorded: { task, key } }: AskedCall,
  { token, deadline, detail }: Wait,
): Draft {
  const next = { timer: `probe:${run.timerName()}`, anchorMs: run.ports.clock.nowMs(), delayMs: confirm.probeEveryMs };
  return {
    type: 'EffectPending',
    control: { task, key, token, probe: probe === undefined ? null : next, deadline },
    payload: { detail },
  };
}

export const overdue = (
  { key, request, effect: { operation } }: AskedCall,
  token: string,
  probe: ProbeAnswer,
): ParkError =>
  new ParkError(
    'confirmation-overdue',
    `Effect ${key} was accepted outside as '${token}', and nobody has confirmed it in time. A person must decide.`,
    key,
    { operation, token, request: excerpt(request), probe },
  );

export function checkedToken(operation: string, answer: PendingResult): PendingResult {
  const { token } = answer;
  if (typeof token === 'string' && token !== '' && token.length <= NAME_MAX_CHARS) return answer;
  throw new InvalidError(
    'token-invalid',
    `${operation}: pending('…') needs the receiver's token, 1 to ${NAME_MAX_CHARS} characters. Whether it was accepted is unknown now.`,
  );
}
