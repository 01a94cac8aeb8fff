/**
 * Owns effects as a user defines them: an action on the outside with how to call, probe and undo it, in one value, so that
 * recovery needs no closure of a dead process. Must not call anything: the runtime does, and journals it (I4).
 */

import { type EffectKey, type EffectKind, InvalidError, type Json } from '@tidemark/core';
import type { EffectContext, EffectDefinition, ProbeResult } from '@tidemark/runtime';
import { CONFIRM_DEFAULT, EFFECT_RETRY_DEFAULT, EFFECT_TIMEOUT_DEFAULT_MS, EFFECT_TIMEOUT_MAX_MS } from './limits.ts';
import { kindOf, parser } from './parse.ts';
import { type DefinitionProblem, nameProblems, refuseProblems, schemaProblems, unknownMembers } from './problem.ts';
import { type RetryOptions, retryPolicy, retryProblems } from './retry.ts';
import type { Given, Parsed, Schema } from './schema.ts';

/** What a user says of an effect. */
export interface EffectSpec<Request extends Schema, Response extends Schema> {
  /** Names it for good, in keys, logs and metrics: `payments.credit`. */
  readonly operation: string;
  /**
   * `pure`: may be repeated, nothing outside changes. `idempotent`: repeating it with the same key is harmless.
   * `irreversible`: it counts each time.
   */
  readonly kind: EffectKind;
  readonly request: Request;
  readonly response: Response;
  /** Does it. Pass `key` on to a receiver that deduplicates, and `signal` to whatever can be aborted. */
  readonly call: (
    request: Parsed<NoInfer<Request>>,
    context: EffectContext,
  ) => Given<NoInfer<Response>> | Promise<Given<NoInfer<Response>>>;
  /** Asks the outside whether the call of this key took place: `done(response)`, `notDone()` or `unknown()`. */
  readonly probe?:
    | ((
        key: EffectKey,
        context: { readonly signal: AbortSignal },
      ) => ProbeResult<Given<NoInfer<Response>>> | Promise<ProbeResult<Given<NoInfer<Response>>>>)
    | undefined;
  /** Undoes it, given what it answered. */
  readonly compensate?: ((response: Parsed<NoInfer<Response>>, context: EffectContext) => unknown) | undefined;
  /**
   * Default: 5 attempts, 200 ms first, doubling, at most 30 s. An error of an irreversible call doesn't say that nothing
   * happened: the next attempt asks the probe, and without one a person. Throw `NotDoneError` when it certainly did not.
   */
  readonly retry?: RetryOptions | undefined;
  /** Of one call; default 30 s, at most an hour. */
  readonly timeoutMs?: number | undefined;
}

/** A defined effect, for `ctx.effect`. */
export interface Effect<Request extends Schema = Schema, Response extends Schema = Schema> extends EffectDefinition {
  readonly request: Request;
  readonly response: Response;
}

/** What a probe found: the call took place, and answered this. */
export const done = <const Response>(response: Response): ProbeResult<Response> => ({ status: 'done', response });
/** What a probe found: the call did not take place. */
export const notDone = (): ProbeResult<never> => ({ status: 'not-done' });
/** What a probe found: it can't tell. */
export const unknown = (): ProbeResult<never> => ({ status: 'unknown' });

/** Defines an effect. Throws `InvalidError` (`effect-invalid`) that lists every problem of the definition. */
export function defineEffect<Request extends Schema, Response extends Schema>(
  spec: EffectSpec<Request, Response>,
): Effect<Request, Response> {
  const { operation, kind, call, probe, compensate } = spec;
  const retry = retryPolicy(spec.retry, EFFECT_RETRY_DEFAULT);
  const timeoutMs = spec.timeoutMs ?? EFFECT_TIMEOUT_DEFAULT_MS;
  const problems = [
    ...effectProblems(spec),
    ...retryProblems(spec.retry, retry).map((message) => ({ code: 'retry-invalid', message: `${message}.` })),
    ...timeoutProblems(timeoutMs),
  ];
  refuseProblems('effect-invalid', `Effect ${operation}`, problems);
  const parseResponse = parser(spec.response, {
    code: 'effect-response-invalid',
    what: `response of effect ${operation}`,
    remedy: 'Fix what call or probe returns, or the response schema.',
  });
  return {
    operation,
    kind,
    retry,
    timeoutMs,
    confirm: CONFIRM_DEFAULT,
    request: spec.request,
    response: spec.response,
    parseRequest: parser(spec.request, {
      code: 'effect-request-invalid',
      what: `request of effect ${operation}`,
      remedy: 'Fix what is passed to ctx.effect, or the request schema.',
    }),
    parseResponse,
    call: async (request, context) => call(request as Parsed<Request>, context),
    ...(probe && { probe: async (key, context) => checkProbe(operation, parseResponse, await probe(key, context)) }),
    ...(compensate && {
      compensate: async (response, context) => {
        await compensate(response as Parsed<Response>, context);
      },
    }),
  };
}

/** A probe decides whether something irreversible is done again, so nothing that is no clear answer passes for one. */
function checkProbe(
  operation: string,
  parseResponse: (value: unknown) => Json,
  result: ProbeResult<unknown>,
): ProbeResult<Json> {
  if (result?.status === 'done') return { status: 'done', response: parseResponse(result.response) };
  if (result?.status === 'not-done' || result?.status === 'unknown') return result;
  throw new InvalidError(
    'probe-invalid',
    `The probe of effect ${operation} returned ${kindOf(result)}. It must return done(response), notDone() or unknown().`,
    { operation },
  );
}

const KINDS: readonly unknown[] = ['pure', 'idempotent', 'irreversible'] satisfies EffectKind[];
const KNOWN = ['operation', 'kind', 'request', 'response', 'call', 'probe', 'compensate', 'retry', 'timeoutMs'];

function effectProblems(spec: EffectSpec<Schema, Schema>): DefinitionProblem[] {
  const problems = [
    ...unknownMembers('defineEffect', spec, KNOWN),
    ...nameProblems('operation', spec.operation),
    ...schemaProblems('request', spec.request),
    ...schemaProblems('response', spec.response),
  ];
  const refuse = (code: string, message: string) => problems.push({ code, message });
  if (!KINDS.includes(spec.kind)) refuse('kind-invalid', `kind must be one of ${KINDS.join(', ')}.`);
  if (typeof spec.call !== 'function') refuse('call-missing', 'call must be a function.');
  if (spec.kind === 'pure' && spec.compensate !== undefined) {
    refuse('compensate-useless', 'a pure effect changes nothing, so compensate would never run; leave it out.');
  }
  return problems;
}

function timeoutProblems(timeoutMs: number): readonly DefinitionProblem[] {
  if (timeoutMs > 0 && timeoutMs <= EFFECT_TIMEOUT_MAX_MS) return [];
  return [{ code: 'timeout-invalid', message: `timeoutMs must be above 0 and at most ${EFFECT_TIMEOUT_MAX_MS}.` }];
}
