/**
 * Owns which faults of a call pass by themselves, which are final, and which may be either: the table of docs/effects.md. Reads errors by
 * their fields, since they come from clients of every kind. Never throws, whatever was thrown.
 */

import {
  InvalidError,
  LimitError,
  REFUSED_STATUSES,
  RETRY_AFTER_MAX_MS,
  retryAfterMs,
  TidemarkError,
} from '@tidemark/core';
import type { RetryPolicy } from '../kernel/index.ts';
import { CallWaitError, EffectError, FatalError } from './step-errors.ts';

/** Causes of an error that are looked at. */
const CAUSES_MAX_COUNT = 6;
/** Characters of what a fault is called by. */
const WHY_MAX_CHARS = 80;

/** Too many calls, too early, or an outage: of the receiver, or of a proxy before it (520 to 524, 529: as operators of these use them). */
const PASSING_STATUSES: ReadonlySet<number> = new Set([
  ...[408, 421, 425, 429, 502, 503, 504],
  ...[520, 521, 522, 523, 524, 529],
]);
/** The request is refused, and would be again. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([...REFUSED_STATUSES, 501, 505]);
/** Codes and names of errors: of the network, of time-outs, of our own calls, of providers, and SQLSTATEs of Postgres. */
const PASSING_WORDS = new RegExp(
  `^(?:${[
    'ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN',
    'UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET)|TimeoutError|APIConnection(?:Timeout)?Error',
    'effect-timeout|effect-silent|http-cut|not-frozen',
    '(?:server_)?overloaded(?:_error)?|rate_limit_(?:error|exceeded)|service_unavailable|slow_down|RESOURCE_EXHAUSTED|UNAVAILABLE',
    'Throttling(?:Exception)?|TooManyRequestsException|ServiceUnavailable(?:Exception)?',
    '08[0-9A-Z]{3}|53[0-9A-Z]{3}|57P0[123]|40001|40P01',
  ].join('|')})$`,
);

/** A model's provider would refuse the call again. A person may give another key, or another model, and have the step tried again. */
const REFUSED_CODES: ReadonlySet<string> = new Set(['model-refused', 'model-stream-refused']);

const LIMITED_WORDS =
  /^(?:rate_limit_(?:error|exceeded)|slow_down|RESOURCE_EXHAUSTED|Throttling(?:Exception)?|TooManyRequestsException)$/;

/**
 * `passing`: it passes by itself, and the call is made again for as long as the policy's patience lasts. `final`: no further attempt helps;
 * `named`: the definition says so. `open`: neither is known, and the policy counts attempts. `retryAfterMs`: the wait that was asked for.
 */
export interface Fault {
  readonly kind: 'passing' | 'final' | 'named' | 'open';
  /** `429`, `ECONNREFUSED`. */
  readonly why: string;
  readonly retryAfterMs: number | undefined;
  /** It says that it is called too often. */
  readonly isLimited: boolean;
  /** By the status of an answer that nobody has judged. */
  readonly isByStatus: boolean;
}

/** What the step's error is, by the policy of what it called. */
export function faultOf(error: unknown, policy: Pick<RetryPolicy, 'passing' | 'nonRetryable'>, nowMs: number): Fault {
  const cause = causeOf(error);
  const facts = factsOf(cause, nowMs);
  const { status, words } = facts;
  const listed = (of: readonly string[], names: readonly string[] = []) => of.find((word) => names.includes(word));
  const fault = (kind: Fault['kind'], why = status === undefined ? (words[0] ?? 'error') : String(status)): Fault => ({
    kind,
    why: why.slice(0, WHY_MAX_CHARS),
    retryAfterMs: facts.retryAfterMs,
    isLimited: status === 429 || words.some((word) => LIMITED_WORDS.test(word)),
    isByStatus: cause instanceof InvalidError || cause instanceof LimitError ? false : kind === 'final',
  });
  if (cause instanceof CallWaitError) return { ...fault('passing', cause.why), isLimited: false };
  if (cause instanceof FatalError || listed(facts.own, policy.nonRetryable) !== undefined) return fault('named');
  // The next attempt decides an effect that is open before it does anything else.
  if (cause instanceof LimitError || (cause instanceof InvalidError && cause.code !== 'effect-open'))
    return fault('final');
  const named = listed(status === undefined ? words : [...words, String(status)], policy.passing);
  if (named !== undefined) return fault('passing', named);
  if (facts.own.some((word) => REFUSED_CODES.has(word))) return fault('final');
  // Whoever refuses and says when to come back has not refused for good.
  const isAsked = facts.retryAfterMs !== undefined;
  if (status !== undefined && (PASSING_STATUSES.has(status) || (isAsked && FINAL_STATUSES.has(status))))
    return fault('passing');
  // Whoever throws one of these errors has judged the answer.
  const isJudged = cause instanceof TidemarkError;
  if (status !== undefined && FINAL_STATUSES.has(status)) return fault(isJudged ? 'open' : 'final');
  const passing = words.find((word) => PASSING_WORDS.test(word));
  if (passing !== undefined) return fault('passing', passing);
  return fault(isAsked ? 'passing' : 'open');
}

/** The error of a call, where the step's error only says which call it was. */
export const causeOf = (error: unknown): unknown => (error instanceof EffectError ? error.cause : error);

interface Facts {
  readonly status: number | undefined;
  /** Codes, names and reasons, of the error itself first. */
  readonly words: readonly string[];
  /** What the error itself is called by, its causes apart: its code, or its name where it has none, and its status. */
  readonly own: readonly string[];
  readonly retryAfterMs: number | undefined;
}

/** Of the error and its causes: what a client of HTTP, of a provider or of a database leaves in them. */
function factsOf(error: unknown, nowMs: number): Facts {
  const words: string[] = [];
  const own: string[] = [];
  let status: number | undefined;
  let askedMs: number | undefined;
  let at = error;
  for (let depth = 0; depth < CAUSES_MAX_COUNT && typeof at === 'object' && at !== null; depth++) {
    const details = member(at, 'details');
    const response = member(at, 'response');
    const body = member(at, 'error');
    const said = [
      ...[member(at, 'code'), member(at, 'name'), member(details, 'reason'), member(details, 'state')],
      ...[member(at, 'type'), member(body, 'type'), member(member(body, 'error'), 'type')],
    ];
    words.push(...said.filter((word) => typeof word === 'string'));
    const found = [
      member(at, 'status'),
      member(at, 'statusCode'),
      member(details, 'status'),
      member(response, 'status'),
      member(response, 'statusCode'),
      member(member(at, '$metadata'), 'httpStatusCode'),
    ].find((each) => Number.isInteger(each) && (each as number) >= 300 && (each as number) < 600);
    status ??= found as number | undefined;
    if (depth === 0) {
      const called = said.slice(0, 2).find((word) => typeof word === 'string' && word !== '');
      own.push(...[called, found].filter((word) => word !== undefined).map(String));
    }
    const wait = member(details, 'retryAfterMs');
    const headers = [member(at, 'headers'), member(at, 'responseHeaders'), member(response, 'headers')];
    askedMs ??=
      typeof wait === 'number' && wait >= 0
        ? Math.min(wait, RETRY_AFTER_MAX_MS)
        : headers.map((each) => retryAfterMs(each, nowMs, status === 429)).find((each) => each !== undefined);
    at = member(at, 'cause') ?? member(at, 'lastError');
  }
  return { status, words, own, retryAfterMs: askedMs };
}

/** A getter of the error may throw. */
function member(of: unknown, name: string): unknown {
  try {
    return (of as { readonly [name: string]: unknown } | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}
