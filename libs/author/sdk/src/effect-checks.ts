/**
 * Owns the checks of an effect's definition, for mistakes that would otherwise show when a call is already under way. Must not fill in
 * defaults: its input has them.
 */

import type { EffectKind } from '@tidemark/core';
import { type ConfirmationPolicy, callLimitProblems, type RetryOptions, type RetryPolicy } from '@tidemark/runtime';
import { type DefinitionProblem, nameProblems, schemaProblems, unknownMembers } from './problem.ts';
import { retryProblems } from './retry.ts';

/** Shortest time between two probes of an unconfirmed effect, in milliseconds. */
const CONFIRM_PROBE_MIN_MS = 100;
/** Longest wait for a confirmation before a person is asked: a year. */
const CONFIRM_TIMEOUT_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
/** Longest time-out of one call of an effect: an hour. A longer one is better split into requesting and fetching. */
const EFFECT_TIMEOUT_MAX_MS = 60 * 60 * 1_000;

/** A spec of any types, also from callers without types. */
export interface AnyEffectSpec {
  readonly operation: unknown;
  readonly kind: unknown;
  readonly request: unknown;
  readonly response: unknown;
  readonly call: unknown;
  readonly key?: unknown;
  readonly keyFormat?: unknown;
  readonly probe?: unknown;
  readonly compensate?: unknown;
  readonly compensateUnknown?: unknown;
  readonly probeFences?: unknown;
  readonly afterSilence?: unknown;
  readonly onChanged?: unknown;
  readonly confirm?: object | undefined;
  readonly retry?: RetryOptions | undefined;
  readonly limits?: unknown;
  readonly receiver?: unknown;
  readonly heartbeatTimeoutMs?: number | undefined;
}

/** The options with the defaults. */
export interface EffectSettings {
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  readonly confirm: ConfirmationPolicy;
}

const KINDS: readonly unknown[] = ['pure', 'idempotent', 'irreversible'] satisfies EffectKind[];
const KNOWN = [
  ...['operation', 'kind', 'request', 'response', 'key', 'keyFormat', 'call', 'probe', 'probeFences', 'compensate'],
  ...[
    'compensateUnknown',
    'confirm',
    'retry',
    'timeoutMs',
    'heartbeatTimeoutMs',
    'afterSilence',
    'onChanged',
    'limits',
    'receiver',
  ],
];
const CONFIRM_KNOWN = ['probeEveryMs', 'timeoutMs'];

/** Returns every mistake in it. */
export function effectSpecProblems(spec: AnyEffectSpec, settings: EffectSettings): readonly DefinitionProblem[] {
  return [
    ...unknownMembers('defineEffect', spec, KNOWN),
    ...nameProblems('operation', spec.operation),
    ...schemaProblems('request', spec.request),
    ...schemaProblems('response', spec.response),
    ...functionProblems(spec),
    ...retryProblems(spec.retry, settings.retry).map((message) => problem('retry-invalid', `${message}.`)),
    ...callLimitProblems(spec.limits, false).map((message) => problem('limit-invalid', `${message}.`)),
    ...timeProblems(spec.heartbeatTimeoutMs, settings.timeoutMs),
    ...confirmProblems(spec.confirm ?? {}, settings.confirm),
  ];
}

function functionProblems(spec: AnyEffectSpec): readonly DefinitionProblem[] {
  const problems: DefinitionProblem[] = [];
  if (!KINDS.includes(spec.kind)) problems.push(problem('kind-invalid', `kind must be one of ${KINDS.join(', ')}.`));
  if (typeof spec.call !== 'function') problems.push(problem('call-missing', 'call must be a function.'));
  for (const name of ['key', 'receiver', 'probe', 'compensate', 'compensateUnknown'] as const) {
    if (spec[name] === undefined || typeof spec[name] === 'function') continue;
    problems.push(problem('option-invalid', `${name} must be a function.`));
  }
  if (spec.keyFormat !== undefined && spec.keyFormat !== 'digest') {
    problems.push(problem('option-invalid', "keyFormat must be 'digest' or left out."));
  }
  if (spec.probeFences !== undefined && (typeof spec.probeFences !== 'boolean' || spec.probe === undefined)) {
    problems.push(
      problem('option-invalid', 'probeFences must be true or false, and says something only beside probe.'),
    );
  }
  if (spec.afterSilence !== undefined && (spec.afterSilence !== 'call' || spec.kind !== 'irreversible')) {
    const message = "afterSilence must be 'call' or left out, and says something only of an irreversible effect.";
    problems.push(problem('option-invalid', message));
  }
  if (spec.onChanged !== undefined && (spec.onChanged !== 'send-recorded' || spec.kind !== 'idempotent')) {
    const message =
      "onChanged must be 'send-recorded' or left out, and says something only of an idempotent effect: of an irreversible one a person is always asked, and a pure one is called anew.";
    problems.push(problem('option-invalid', message));
  }
  if (spec.kind === 'pure' && (spec.compensate !== undefined || spec.compensateUnknown !== undefined)) {
    const message = 'a pure effect changes nothing, so compensate would never run; leave it out.';
    problems.push(problem('compensate-useless', message));
  }
  return problems;
}

function timeProblems(heartbeatTimeoutMs: number | undefined, timeoutMs: number): readonly DefinitionProblem[] {
  if (!(timeoutMs > 0 && timeoutMs <= EFFECT_TIMEOUT_MAX_MS)) {
    return [problem('timeout-invalid', `timeoutMs must be above 0 and at most ${EFFECT_TIMEOUT_MAX_MS}.`)];
  }
  if (heartbeatTimeoutMs === undefined || (heartbeatTimeoutMs > 0 && heartbeatTimeoutMs < timeoutMs)) return [];
  return [problem('timeout-invalid', 'heartbeatTimeoutMs must be above 0 and less than timeoutMs.')];
}

function confirmProblems(given: object, { probeEveryMs, timeoutMs }: ConfirmationPolicy): readonly DefinitionProblem[] {
  const problems = [...unknownMembers('confirm', given, CONFIRM_KNOWN)];
  if (!(timeoutMs >= CONFIRM_PROBE_MIN_MS && timeoutMs <= CONFIRM_TIMEOUT_MAX_MS)) {
    const message = `confirm.timeoutMs must be between ${CONFIRM_PROBE_MIN_MS} and ${CONFIRM_TIMEOUT_MAX_MS}.`;
    problems.push(problem('confirm-invalid', message));
  } else if (!(probeEveryMs >= CONFIRM_PROBE_MIN_MS && probeEveryMs <= timeoutMs)) {
    const message = `confirm.probeEveryMs must be between ${CONFIRM_PROBE_MIN_MS} and confirm.timeoutMs.`;
    problems.push(problem('confirm-invalid', message));
  }
  return problems;
}

const problem = (code: string, message: string): DefinitionProblem => ({ code, message });
