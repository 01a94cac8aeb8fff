/**
 * Owns effects as a user defines them: an action on the outside with how to call, probe and compensate it, in one value, so that recovery
 * needs no closure of a dead process. Must not call anything: the runtime does, and journals it (I4).
 */

import { toJson } from '@tidemark/codec';
import { type EffectKey, type EffectKind, InvalidError, type Json } from '@tidemark/core';
import {
  type CallLimit,
  type ConfirmationPolicy,
  callScopes,
  DEFAULT_RETRY,
  type EffectContext,
  type EffectDefinition,
  noteUnprobed,
  PendingResult,
  type ProbeResult,
  type RetryOptions,
  retryPolicy,
  sha256Digest,
} from '@tidemark/runtime';
import { effectSpecProblems } from './effect-checks.ts';
import { CONFIRM_DEFAULT } from './limits.ts';
import { kindOf, parser } from './parse.ts';
import { refuseProblems } from './problem.ts';
import type { Given, Parsed, Schema } from './schema.ts';
import { hasSecrets } from './secret.ts';

/** Characters of the token of an effect that is confirmed later, at most. */
const PENDING_TOKEN_MAX_CHARS = 512;
/** Characters of a key that is made of a request, at most, and those of a key that is sent as a digest: 120 bits. */
const SENT_KEY_MAX_CHARS = 255;
const DIGEST_KEY_CHARS = 30;
/** Time-out of one call of an effect by default. */
const EFFECT_TIMEOUT_DEFAULT_MS = 30_000;

/** A user's definition of an effect. */
export interface EffectSpec<Request extends Schema, Response extends Schema> {
  /** Its permanent name in keys, logs and metrics: `payments.credit`. */
  readonly operation: string;
  /** `pure`: may be repeated, nothing outside changes. `idempotent`: repeating it with the same key is harmless. `irreversible`: it counts each time. */
  readonly kind: EffectKind;
  readonly request: Request;
  readonly response: Response;
  /**
   * What `call` and `probe` get as the key instead of the effect's own, and the receiver deduplicates by: `({ orderId }) => orderId`. Runs
   * whose requests have one key then do it once, as long as the receiver keeps its keys: the ledger is per run, and knows of no other. It
   * must be the same for the same request, and name all that makes another call of it: 1..255 characters.
   */
  readonly key?: ((request: Parsed<NoInfer<Request>>) => string) | undefined;
  /** `digest`: the key is sent as 30 hex digits of its SHA-256, for receivers that cap keys. */
  readonly keyFormat?: 'digest' | undefined;
  /** Makes the call. Pass `key` on to a receiver that deduplicates, and `signal` to whatever can be aborted. */
  readonly call: (
    request: Parsed<NoInfer<Request>>,
    context: EffectContext,
  ) => Answer<NoInfer<Response>> | Promise<Answer<NoInfer<Response>>>;
  /**
   * Finds out outside whether the call of this key took place: returns `done(response)`, `notDone()` or `unknown()`. Recovery calls it when
   * a worker died during the call. Called for a recorded outcome, it validates that: `notDone()` then says that the record doesn't hold
   * outside. `context.request` is the request of that key.
   */
  readonly probe?:
    | ((
        key: EffectKey,
        context: { readonly signal: AbortSignal; readonly request: Parsed<NoInfer<Request>> },
      ) => ProbeResult<Given<NoInfer<Response>>> | Promise<ProbeResult<Given<NoInfer<Response>>>>)
    | undefined;
  /**
   * True: once the probe has answered `notDone()` for a key, the receiver takes no call with that key any more. Recovery then calls again
   * at once, where it would otherwise wait until no late call can be under way.
   */
  readonly probeFences?: boolean | undefined;
  /**
   * What follows, for an irreversible effect, when a worker fell silent within the call without being known to have ended (stopped, cut off,
   * a lost machine), and the probe doesn't fence. By default a person is asked. `'call'` takes it for ended: once the call window and
   * `timeoutMs` have passed, a probe's `notDone()` is believed and the call is made again, and a compensation is made. The risk: a worker
   * that wakes up later still makes its call, so it may happen twice, or after it was compensated.
   */
  readonly afterSilence?: 'call' | undefined;
  /**
   * Undoes the call, given its response. `context.key` is that of the compensation: it may be called again with the same one. Only effects
   * that the workflow lists in `effects` are compensated, since recovery finds them there.
   */
  readonly compensate?: ((response: Parsed<NoInfer<Response>>, context: EffectContext) => unknown) | undefined;
  /**
   * Undoes what may or may not have happened, given the request. With it, a call with an unknown outcome is compensated without asking a
   * person; it must do no harm when nothing had happened.
   */
  readonly compensateUnknown?: ((request: Parsed<NoInfer<Request>>, context: EffectContext) => unknown) | undefined;
  /** Follow-up of a call that returned `pending(…)`; default: a probe a minute, a person after a day. */
  readonly confirm?: Partial<ConfirmationPolicy> | undefined;
  /**
   * Default: 5 attempts, and a day for faults that pass by themselves; 200 ms first, doubling, at most 5 min, of which a random part. An
   * error of an irreversible call doesn't prove that nothing happened: before the next attempt the probe is called, or without one a person
   * asked. Throw `NotDoneError` when it certainly did not happen.
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * What its calls may take of what they share, over the whole fleet; who can't call waits without a worker. All that name a `key` share it, in
   * other effects and models as well. Without one the limit is this effect's own.
   */
  readonly limits?: readonly CallLimit[] | undefined;
  /**
   * Whom a call with this request calls, for an effect of many receivers: each has a limit and a circuit of its own, so one that is down
   * keeps no other waiting, and slows none. Stored as a digest. Default: they are one.
   */
  readonly receiver?: ((request: Parsed<NoInfer<Request>>) => string | Promise<string>) | undefined;
  /**
   * What follows when a later attempt asks something else than was recorded: `'send-recorded'` sends that under its key, or gives its outcome,
   * with a warning. For an idempotent effect whose call doesn't depend on what differs, such as a time. By default a person is asked.
   */
  readonly onChanged?: 'send-recorded' | undefined;
  /** Time-out of one call; default 30 s, at most an hour. */
  readonly timeoutMs?: number | undefined;
  /**
   * Longest time between two `context.heartbeat()` of a call, less than `timeoutMs`: a call that falls silent for longer is
   * given up as if its time were over. Default: no heartbeats are expected.
   */
  readonly heartbeatTimeoutMs?: number | undefined;
}

/** What a call returns: the response, or that it was accepted and is confirmed later. */
export type Answer<Response extends Schema> = Given<Response> | PendingResult;

/** A defined effect, for `ctx.effect`. */
export interface Effect<Request extends Schema = Schema, Response extends Schema = Schema> extends EffectDefinition {
  readonly request: Request;
  readonly response: Response;
}

/**
 * Returned by `call`: the receiver has accepted the request and confirms later, under this token (1..512 characters). The step waits,
 * holding no worker, for the confirmation, which brings the response; meanwhile the probe is called as `confirm` says. `detail`, JSON, is
 * for the one who confirms.
 */
export function pending(token: string, detail: unknown = null): PendingResult {
  if (typeof token === 'string' && token.length > 0 && token.length <= PENDING_TOKEN_MAX_CHARS) {
    return new PendingResult(token, toJson(detail, 'detail of pending()'));
  }
  throw new InvalidError(
    'pending-invalid',
    `pending() needs a token of 1..${PENDING_TOKEN_MAX_CHARS} characters, which names the request in its confirmation; got ${kindOf(token)}.`,
  );
}

/** A probe's answer: the call took place, with this response. */
export const done = <const Response>(response: Response): ProbeResult<Response> => ({ status: 'done', response });
/** A probe's answer: the call did not take place. */
export const notDone = (): ProbeResult<never> => ({ status: 'not-done' });
/** A probe's answer: it can't tell. */
export const unknown = (): ProbeResult<never> => ({ status: 'unknown' });

/** Defines an effect. Throws `InvalidError` (`effect-invalid`) that lists every problem of the definition. */
export function defineEffect<Request extends Schema, Response extends Schema>(
  spec: EffectSpec<Request, Response>,
): Effect<Request, Response> {
  const { operation, kind, call, probe, compensate, compensateUnknown, heartbeatTimeoutMs, probeFences, afterSilence } =
    spec;
  const settings = {
    retry: retryPolicy(spec.retry, DEFAULT_RETRY),
    timeoutMs: spec.timeoutMs ?? EFFECT_TIMEOUT_DEFAULT_MS,
    confirm: confirmation(spec.confirm),
  };
  refuseProblems('effect-invalid', `Effect ${operation}`, effectSpecProblems(spec, settings));
  if (kind === 'irreversible' && probe === undefined)
    noteUnprobed({ operation, compensateUnknown: compensateUnknown as never }, stackOf(defineEffect));
  const parseResponse = parser(spec.response, {
    code: 'effect-response-invalid',
    what: `response of effect ${operation}`,
    remedy: 'Give a response that fits (from call, probe, a person or a web hook), or change the response schema.',
  });
  return {
    operation,
    kind,
    ...settings,
    ...(heartbeatTimeoutMs !== undefined && { heartbeatTimeoutMs }),
    ...(probeFences !== undefined && { probeFences }),
    ...(afterSilence !== undefined && { afterSilence }),
    ...(spec.onChanged !== undefined && { onChanged: spec.onChanged }),
    ...((spec.key ?? spec.keyFormat) !== undefined && { sentKey: keyMaker(spec) }),
    ...((spec.limits ?? spec.receiver) !== undefined && { scopesOf: scopesOf(spec) }),
    request: spec.request,
    response: spec.response,
    hasSecrets: [spec.request, spec.response].some(hasSecrets),
    parseRequest: parser(spec.request, {
      code: 'effect-request-invalid',
      what: `request of effect ${operation}`,
      remedy: 'Fix what is passed to ctx.effect, or the request schema.',
    }),
    parseResponse,
    call: async (request, context) => call(request as Parsed<Request>, context),
    ...(probe && {
      probe: async (key, context) => checkProbe(operation, parseResponse, await probe(key, context as never)),
    }),
    ...(compensate && { compensate: undo(compensate, spec.keyFormat) }),
    ...(compensateUnknown && { compensateUnknown: undo(compensateUnknown, spec.keyFormat) }),
  };
}

/** The stack of whoever called it. */
function stackOf(callee: (...args: never[]) => unknown): string {
  const at: { stack?: string } = {};
  Error.captureStackTrace(at, callee);
  return at.stack ?? '';
}

/** What undoes an effect sends the key of the undo, in the form in which the effect sends its own: their receiver is the same. */
const undo =
  (
    compensate: (given: never, context: EffectContext) => unknown,
    keyFormat: 'digest' | undefined,
  ): NonNullable<EffectDefinition['compensate']> =>
  async (given, context) => {
    const sent = keyFormat === 'digest' ? { ...context, key: digestOf(context.key) as EffectKey } : context;
    await compensate(given as never, sent);
  };

const digestOf = (key: string): string => sha256Digest.sha256(key).slice(0, DIGEST_KEY_CHARS);

/** Throws `InvalidError` (`effect-key-invalid`) for a key that names nothing: it would make all calls one. */
function keyMaker({
  operation,
  key: keyOf,
  keyFormat,
}: {
  readonly operation: string;
  readonly key?: ((request: never) => string) | undefined;
  readonly keyFormat?: 'digest' | undefined;
}): EffectDefinition['sentKey'] {
  return (own, request) => {
    const key: unknown = keyOf === undefined ? own : keyOf(request as never);
    if (typeof key !== 'string' || key === '' || key.length > SENT_KEY_MAX_CHARS) {
      throw new InvalidError(
        'effect-key-invalid',
        `Effect ${operation}: key must return a text of 1 to ${SENT_KEY_MAX_CHARS} characters; got ${typeof key === 'string' ? `${key.length} characters` : kindOf(key)}.`,
        { operation },
      );
    }
    return keyFormat === 'digest' ? digestOf(key) : key;
  };
}

/** Hex digits of a receiver's digest. */
const RECEIVER_DIGITS = 16;

/**
 * A receiver is of the request, which not everybody may read who sees keys in Redis or what a run waits for. It is the same for all tenants,
 * since the limits of a receiver are.
 */
const scopesOf =
  ({
    operation,
    limits,
    receiver,
  }: {
    readonly operation: string;
    readonly limits?: readonly CallLimit[] | undefined;
    readonly receiver?: ((request: never) => string | Promise<string>) | undefined;
  }): NonNullable<EffectDefinition['scopesOf']> =>
  async (request) => {
    let of = '';
    try {
      if (receiver !== undefined)
        of = ` #${sha256Digest.sha256(`${operation}\n${await receiver(request as never)}`).slice(0, RECEIVER_DIGITS)}`;
    } catch {
      // Whom it calls can't be told: its limits hold all the same.
    }
    return callScopes([`effect ${operation}${of}`], limits);
  };

/** A deadline alone scales the default period of probes with it. */
function confirmation(options: Partial<ConfirmationPolicy> | undefined): ConfirmationPolicy {
  const timeoutMs = options?.timeoutMs ?? CONFIRM_DEFAULT.timeoutMs;
  return { timeoutMs, probeEveryMs: options?.probeEveryMs ?? Math.min(CONFIRM_DEFAULT.probeEveryMs, timeoutMs) };
}

/** A probe decides whether something irreversible is repeated, so any unclear answer counts as unknown. */
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
