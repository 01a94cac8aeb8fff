/**
 * Owns the effect that is an HTTP request with an idempotency key. Must hold no state: all that recovery needs is the key and the request.
 * Invariant: `NotDoneError` is thrown only for a call that certainly changed nothing.
 */

import { ANSWER_BOUNDS, messageOf, parseJson } from '@tidemark/core';
import {
  type Answer,
  defineEffect,
  type Effect,
  type EffectContext,
  type EffectSpec,
  FatalError,
  type Given,
  InvalidError,
  NotDoneError,
  type Parsed,
  type ProbeResult,
  type Schema,
} from '@tidemark/sdk';
import { echoOf } from './http-echo.ts';
import { readExcerpt, readWhole, send } from './http-exchange.ts';
import { type HttpOutcome, outcomeError, outcomeOf } from './http-outcome.ts';
import { type HttpRequest, type ReadyRequest, ready } from './http-request.ts';
import { headerKey, type KeyFormat, keyHeaderValue } from './key-header.ts';
import { REASON_MAX_CHARS } from './limits.ts';
import { question } from './question.ts';
import { finalWhenRefused } from './refused-error.ts';

/**
 * Body of a response that is a result, at most, decompressed: 4 MiB by default. A worker has hundreds of calls under way and, by the chart, a
 * heap of 224 MB, where a body takes several times its bytes. Without large payloads an event holds 1 MiB, and the runtime says so.
 */
const RESPONSE_MAX_BYTES = 4 * 1_024 * 1_024;

type Awaitable<T> = T | Promise<T>;

/** The response; credentials that were sent read `[redacted]` in it. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. Throws `InvalidError` (`http-response-not-json`). */
  json(): unknown;
}

/** A user's effect over HTTP. */
export interface HttpEffectSpec<Request extends Schema, Response extends Schema>
  extends Pick<
    EffectSpec<Request, Response>,
    | 'operation'
    | 'kind'
    | 'request'
    | 'response'
    | 'key'
    | 'retry'
    | 'timeoutMs'
    | 'confirm'
    | 'probeFences'
    | 'afterSilence'
    | 'onChanged'
    | 'limits'
    | 'receiver'
  > {
  /** The request to send; it sends nothing itself. It should be the same for the same input: receivers compare. */
  readonly send: (request: Parsed<NoInfer<Request>>) => Awaitable<HttpRequest>;
  /** What the answer means; default: its body as JSON. `pending(token)` where it is confirmed later. */
  readonly receive?: ((answer: HttpAnswer) => Answer<NoInfer<Response>>) | undefined;
  /** How to find out whether the call of a key took place. */
  readonly probe?: HttpProbe<Parsed<NoInfer<Request>>, Given<NoInfer<Response>>> | undefined;
  /** The request that undoes it, sent with the key of the compensation. */
  readonly compensate?: { readonly send: (response: Parsed<NoInfer<Response>>) => Awaitable<HttpRequest> } | undefined;
  /** The header of the key; default `Idempotency-Key`. */
  readonly keyHeader?: string | undefined;
  /** Default `plain`, which is common practice. */
  readonly keyFormat?: KeyFormat | undefined;
  /** The meaning of this receiver's statuses, where it differs from the usual. */
  readonly outcomes?: Readonly<Record<number, HttpOutcome>> | undefined;
  /** Default 4 MiB. A longer response fails the call, its outcome open. */
  readonly responseMaxBytes?: number | undefined;
}

export interface HttpProbe<Request, Response> {
  /** `key` is the key as the call sent it, without quotes; `request` is that of the call. */
  readonly send: (key: string, request: Request) => Awaitable<HttpRequest>;
  /** Receives every answer, whatever its status, except 5xx, 421, 425, 429, and a refusal with `Retry-After`, which say nothing of the call. */
  readonly judge: (answer: HttpAnswer) => ProbeResult<Response>;
}

/** Defines it. Throws what `defineEffect` throws. */
export function httpEffect<Request extends Schema, Response extends Schema>(
  spec: HttpEffectSpec<Request, Response>,
): Effect<Request, Response> {
  const { operation, probe, compensate } = spec;
  const receive = spec.receive ?? ((answer: HttpAnswer) => answer.json() as Given<NoInfer<Response>>);
  const exchange = new Exchange(spec);
  const effect = defineEffect<Request, Response>({
    operation,
    kind: spec.kind,
    request: spec.request,
    response: spec.response,
    key: spec.key,
    keyFormat: spec.keyFormat === 'digest' ? 'digest' : undefined,
    retry: spec.retry,
    timeoutMs: spec.timeoutMs,
    confirm: spec.confirm,
    probeFences: spec.probeFences,
    afterSilence: spec.afterSilence,
    onChanged: spec.onChanged,
    limits: spec.limits,
    receiver: spec.receiver,
    call: async (request, context) => receive(await exchange.call(() => spec.send(request), context)),
    ...(probe && {
      probe: async (
        key: string,
        { signal, request }: { readonly signal: AbortSignal; readonly request: Parsed<Request> },
      ) => probe.judge(await question(() => exchange.ask(() => probe.send(headerKey(key), request), signal))),
    }),
    ...(compensate && {
      compensate: async (response: Parsed<Response>, context: EffectContext) => {
        await exchange.call(() => compensate.send(response), context);
      },
    }),
  });
  return finalWhenRefused(effect);
}

/** The two ways to send: a call, which acts and carries the key, and a probe, which does neither. */
class Exchange {
  readonly #operation: string;
  readonly #keyHeader: string;
  readonly #keyFormat: KeyFormat;
  readonly #outcomes: Readonly<Record<number, HttpOutcome>>;
  readonly #maxBytes: number;

  constructor(
    spec: Omit<HttpEffectSpec<Schema, Schema>, 'send' | 'key' | 'receive' | 'receiver' | 'probe' | 'compensate'>,
  ) {
    this.#operation = spec.operation;
    this.#keyHeader = spec.keyHeader ?? 'Idempotency-Key';
    this.#keyFormat = spec.keyFormat ?? 'plain';
    this.#outcomes = spec.outcomes ?? {};
    this.#maxBytes = spec.responseMaxBytes ?? RESPONSE_MAX_BYTES;
  }

  /** Returns the answer of a call that was done; throws for any other. */
  async call(make: () => Awaitable<HttpRequest>, { key, signal }: EffectContext): Promise<HttpAnswer> {
    const header = { name: this.#keyHeader, value: keyHeaderValue(key, this.#keyFormat) };
    const request = ready(this.#operation, await this.#made(make), header);
    const response = await send(this.#operation, request, signal);
    const outcome = outcomeOf(response, this.#outcomes);
    if (outcome !== 'done') throw await this.#unwelcome(outcome, request, response);
    return this.#answer(request, response, signal);
  }

  async ask(make: () => Awaitable<HttpRequest>, signal: AbortSignal): Promise<HttpAnswer> {
    const request = ready(this.#operation, await this.#made(make), undefined);
    const response = await send(this.#operation, request, signal);
    if (response.status >= 500 || outcomeOf(response, {}) === 'not-done')
      throw await this.#unwelcome('unknown', request, response);
    return this.#answer(request, response, signal);
  }

  async #made(make: () => Awaitable<HttpRequest>): Promise<HttpRequest> {
    try {
      return await make();
    } catch (error) {
      if (error instanceof FatalError || error instanceof NotDoneError) throw error;
      const reason = messageOf(error).slice(0, REASON_MAX_CHARS);
      throw new NotDoneError(`${this.#operation}: the request could not be made: ${reason}`, {
        operation: this.#operation,
        cause: error,
      });
    }
  }

  async #answer(request: ReadyRequest, response: Response, signal: AbortSignal): Promise<HttpAnswer> {
    const { status } = response;
    const echo = echoOf(request, this.#keyHeader);
    const text = echo.text(await readWhole(this.#operation, response, this.#maxBytes, signal));
    return { status, headers: echo.headers(response.headers), text, json: () => parse(this.#operation, status, text) };
  }

  async #unwelcome(outcome: Exclude<HttpOutcome, 'done'>, request: ReadyRequest, response: Response): Promise<Error> {
    const excerpt = echoOf(request, this.#keyHeader).excerpt(await readExcerpt(response));
    return outcomeError(this.#operation, outcome, response, excerpt);
  }
}

/** The error does not quote the text: it may be anything. */
function parse(operation: string, status: number, text: string): unknown {
  try {
    return parseJson(text, 'the body', ANSWER_BOUNDS);
  } catch (error) {
    throw new InvalidError(
      'http-response-not-json',
      `${operation}: status ${status}, but of ${text.length} characters ${messageOf(error)} Give receive, which reads it.`,
      { operation, status },
    );
  }
}
