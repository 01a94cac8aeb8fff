/**
 * Owns the limits of calls as a definition declares them: their checks, their scopes (what an implementation of CallLimiter counts by), and
 * their words for people. It counts nothing.
 */

import { parseDuration } from '@tidemark/core';
import type { CallRate, CallScope } from '@tidemark/ports';
import { CALL_LIMITS_MAX_COUNT, CALL_PERIOD_MAX_MS, CALLS_MAX_COUNT, LIMIT_KEY_MAX_CHARS } from './limits.ts';

/** At most `count` in each period of `per`: `90s`, `15m`, `36h`, `7d`, or milliseconds; a twentieth of them at once, the others spread. */
export interface CallRateOption {
  readonly count: number;
  readonly per: string | number;
}

/** A limit of calls over the whole fleet. */
export interface CallLimit {
  /** All that name the key share it, such as `openai`; stored and shown readable, so no secret. Default: what declares it has it alone. */
  readonly key?: string | undefined;
  readonly rate?: CallRateOption | undefined;
  /** Tokens of models, input and output: what a call may use at most counts until it has ended. */
  readonly tokens?: CallRateOption | undefined;
  /** Calls at once. */
  readonly concurrency?: number | undefined;
}

const KNOWN = ['key', 'rate', 'tokens', 'concurrency'];

/** The mistakes in a list of limits, in words. `mayCountTokens`: it is of a model. */
export function callLimitProblems(limits: unknown, mayCountTokens: boolean): readonly string[] {
  if (limits === undefined) return [];
  if (!Array.isArray(limits) || limits.length > CALL_LIMITS_MAX_COUNT) {
    return [`limits must be a list of at most ${CALL_LIMITS_MAX_COUNT}`];
  }
  return limits.flatMap((limit: unknown, at) => {
    if (typeof limit !== 'object' || limit === null) return [`limits[${at}] must be an object`];
    return [...limitProblems(limit, mayCountTokens), ...repeated(limit, limits.slice(0, at))].map(
      (problem) => `limits[${at}]${problem}`,
    );
  });
}

/** Two limits of one key are one, which has each member once. */
function repeated(limit: CallLimit, earlier: readonly (CallLimit | null)[]): readonly string[] {
  const others = earlier.filter((other) => other?.key === limit.key);
  return (['rate', 'tokens', 'concurrency'] as const)
    .filter((name) => limit[name] !== undefined && others.some((other) => other?.[name] !== undefined))
    .map((name) => `.${name} is declared by an earlier limit of the same key; leave one of them`);
}

function limitProblems(limit: CallLimit, mayCountTokens: boolean): readonly string[] {
  const { key, rate, tokens, concurrency } = limit;
  const unknown = Object.keys(limit).filter((name) => !KNOWN.includes(name));
  const isKey = typeof key === 'string' && key !== '' && key.length <= LIMIT_KEY_MAX_CHARS && !/\p{Cc}/u.test(key);
  return [
    ...unknown.map((name) => `.${name} is not an option; known: ${KNOWN.join(', ')}`),
    ...(key === undefined || isKey ? [] : [`.key must be a text of 1 to ${LIMIT_KEY_MAX_CHARS} characters`]),
    ...((rate ?? tokens ?? concurrency) === undefined ? [' must have a rate, tokens or a concurrency'] : []),
    ...(tokens !== undefined && !mayCountTokens ? ['.tokens is for models: an effect has none'] : []),
    ...rateProblems('rate', rate),
    ...rateProblems('tokens', tokens),
    ...(concurrency === undefined || isCount(concurrency)
      ? []
      : [`.concurrency must be a whole number up to ${CALLS_MAX_COUNT}`]),
  ];
}

const isCount = (count: unknown): boolean =>
  Number.isInteger(count) && Number(count) >= 1 && Number(count) <= CALLS_MAX_COUNT;

function rateProblems(name: string, rate: CallRateOption | undefined): readonly string[] {
  if (rate === undefined) return [];
  const { count, per } = rate ?? {};
  const perMs = perMsOf(per);
  return [
    ...(isCount(count) ? [] : [`.${name}.count must be a whole number up to ${CALLS_MAX_COUNT}`]),
    ...(perMs >= 1 && perMs <= CALL_PERIOD_MAX_MS
      ? []
      : [`.${name}.per must be '90s', '15m', '36h', up to '7d', or milliseconds`]),
  ];
}

const perMsOf = (per: unknown): number => (typeof per === 'string' ? (parseDuration(per) ?? Number.NaN) : Number(per));

const rateOf = ({ count, per }: CallRateOption): CallRate => ({ count, perMs: perMsOf(per) });

/**
 * What a call shares: what it shares by itself, of which the last is the narrowest, and what its limits name. A limit without a key is of the
 * narrowest, and limits of one key are one scope: each key stands once.
 */
export function callScopes(own: readonly string[], limits: readonly CallLimit[] = []): readonly CallScope[] {
  const scopes = new Map<string, CallScope>(own.map((key) => [key, { key }]));
  const narrowest = own.at(-1)!;
  scopes.set(narrowest, { key: narrowest, isAsked: true });
  for (const { key: name, rate, tokens, concurrency } of limits) {
    const key = name === undefined ? narrowest : `limit ${name}`;
    scopes.set(key, {
      ...{ key, ...scopes.get(key) },
      ...(rate && { rate: rateOf(rate) }),
      ...(tokens && { tokens: rateOf(tokens) }),
      ...(concurrency !== undefined && { concurrency }),
    });
  }
  return [...scopes.values()];
}

/** What ends the key of a scope whose name is of a request: nobody reads that out of it. */
const NAMED_BY_REQUEST = / #[0-9a-f]+$/;

/** The limit in words: `openai: 600 per 60 s`. */
export function limitWords({ key, rate, tokens, concurrency }: CallScope): string {
  const per = (of: CallRate, what: string): string => `${of.count}${what} per ${of.perMs / 1_000} s`;
  const words = [
    ...(rate === undefined ? [] : [per(rate, '')]),
    ...(tokens === undefined ? [] : [per(tokens, ' tokens')]),
    ...(concurrency === undefined ? [] : [`${concurrency} at once`]),
  ];
  return `${key.replace(/^limit /, '').replace(NAMED_BY_REQUEST, '')}: ${words.join(', ') || 'as fast as it answers'}`;
}
