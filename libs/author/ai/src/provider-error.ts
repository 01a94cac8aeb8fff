/**
 * Owns the meaning of a provider's error: refused, busy, or unknown. Reads the SDK's errors by their fields, since several copies of its
 * classes may be loaded. Must not send anything.
 */

import { REFUSED_STATUSES, retryAfterMs } from '@tidemark/core';
import type { Usage } from '@tidemark/runtime';
import {
  ModelBusyError,
  ModelContentRefusedError,
  ModelPromptTooLongError,
  ModelRefusedError,
  ModelStreamError,
  ModelUnavailableError,
  type Received,
  STREAM_BROKEN,
  STREAM_REFUSED,
} from './errors.ts';
import type { Hidden } from './hidden.ts';
import { ERROR_BODY_MAX_CHARS } from './limits.ts';

/** The provider of the error. */
export interface CalledModel {
  readonly provider: string;
  readonly modelId: string;
}

/** The fields that are read of any error that a provider throws or streams. */
interface Facts {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The provider's own code: `context_length_exceeded`. */
  readonly reason: string | undefined;
  readonly isRetryable: boolean | undefined;
  /** The provider itself says that it failed, be it with status 200. */
  readonly isSaid: boolean;
  /** Code of the network: `ECONNREFUSED`. */
  readonly networkCode: string | undefined;
}

/** Too many calls, too early, or a provider that is overloaded: it answers nothing, and is paid nothing. */
const BUSY: ReadonlySet<number> = new Set([425, 429, 529]);
/** With it a provider says the same if its body says so, while a proxy says it of a provider that may be at work. */
const UNAVAILABLE = 503;
/** Their texts quote keys. */
const ABOUT_KEYS: ReadonlySet<number> = new Set([401, 403]);

/** Thrown by the SDK before it sends anything. */
const UNSENT_NAMES: ReadonlySet<string> = new Set([
  'AI_InvalidArgumentError',
  'AI_InvalidPromptError',
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
  'AI_NoSuchProviderError',
  'AI_NoSuchProviderReferenceError',
  'AI_NoSuchToolError',
  'AI_UnsupportedFunctionalityError',
  'AI_UnsupportedModelVersionError',
]);
/** Thrown by the SDK when an answer came that it can't read. */
const MALFORMED_NAMES: ReadonlySet<string> = new Set([
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_JSONParseError',
  'AI_NoContentGeneratedError',
  'AI_TypeValidationError',
]);
/** No connection was established, so nothing was sent. */
const UNSENT_CODES =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|ERR_TLS_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*)$/;
/** Providers' words for being too busy, and for failing by themselves, which some SDKs give the status of a refusal. */
const BUSY_REASON = /overloaded|rate_?limit|throttl|too_many_requests|resource_exhausted/;
const FAILED_REASON = /server_?error|internal|unavailable|unreachable|timeout/;
/** Providers' words for a prompt that is longer than the model takes. */
const TOO_LONG =
  /context[_ -](?:length|window)|(?:prompt|input) is too long|input token count|too large for model|maximum context|reduce the length/i;
/** Content too large (RFC 9110). */
const TOO_LARGE = 413;
/** Providers' words for errors that no later attempt can fix. */
const FINAL_REASON =
  /content[_-]?(?:filter|policy)|insufficient_quota|invalid_request|invalid_api_key|authentication|permission|model_not_found|context_length_exceeded|billing/;

/** Providers' words for a prompt that is refused for what it says, as their code or in their text. */
const CONTENT_REASON = /^(?:content[_-]?(?:filter|policy)\w*|moderation\w*|invalid_prompt)$/;
const CONTENT_WORDS =
  /content (?:filter|policy|management polic)|safety system|flagged as potentially violating|violates? (?:our|the) (?:usage|content) polic/i;
const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };

const isOfContent = ({ reason = '', message }: Facts): boolean =>
  CONTENT_REASON.test(reason) || CONTENT_WORDS.test(message);

/** The error of a call without an answer. */
export function callError(model: CalledModel, error: unknown, hidden: Hidden): Error {
  const facts = factsOf(error);
  const text = textOf(model, facts, hidden);
  const details = hidden.clean(detailsOf(model, facts));
  if (isRefused(facts)) {
    if (isTooLong(facts)) return new ModelPromptTooLongError(text, details);
    return isOfContent(facts)
      ? new ModelContentRefusedError(text, { usage: NO_USAGE }, details)
      : new ModelRefusedError(text, details);
  }
  if (isBusy(facts)) return new ModelBusyError(text, details);
  const isMalformed = !facts.isSaid && (MALFORMED_NAMES.has(facts.name) || isSuccess(facts.status));
  return isMalformed
    ? new ModelUnavailableError(
        'model-answer-malformed',
        `${text} The answer can't be read; it may have been paid for.`,
        details,
      )
    : new ModelUnavailableError('model-unavailable', `${text} Whether it was answered is unknown.`, details);
}

/** The error of an answer that broke off. One that comes instead of any answer means what it means as a status. */
export function streamError(model: CalledModel, error: unknown, received: Received, hidden: Hidden): Error {
  const facts = factsOf(error);
  if (facts.isSaid && isNothing(received)) return callError(model, error, hidden);
  const text = textOf(model, facts, hidden);
  if (isOfContent(facts))
    return new ModelContentRefusedError(text, hidden.clean(received), hidden.clean(detailsOf(model, facts)));
  const isFinal = isRefused(facts) || (facts.reason !== undefined && FINAL_REASON.test(facts.reason));
  return new ModelStreamError(
    isFinal ? STREAM_REFUSED : STREAM_BROKEN,
    text,
    hidden.clean(received),
    hidden.clean(detailsOf(model, facts)),
  );
}

/** The error in the body of an answer that has no content: some SDKs read such a body as an empty answer. */
export function bodyError(body: unknown): Error | undefined {
  if (errorIn(body) === undefined) return undefined;
  return Object.assign(new Error('The answer is an error.'), { statusCode: 200, data: body });
}

const isNothing = ({ text, reasoning, toolCalls }: Received): boolean =>
  text === '' && reasoning === '' && toolCalls.length === 0;

const isSuccess = (status: number | undefined): boolean => status !== undefined && status < 300;

function isRefused({ name, status, reason = '', isRetryable, retryAfterMs: askedMs }: Facts): boolean {
  if (UNSENT_NAMES.has(name)) return true;
  if (status === undefined || isSuccess(status)) return FINAL_REASON.test(reason);
  if (REFUSED_STATUSES.has(status))
    return askedMs === undefined && !BUSY_REASON.test(reason) && !FAILED_REASON.test(reason);
  return status === 429 && (isRetryable === false || FINAL_REASON.test(reason));
}

const isTooLong = ({ status, reason, message }: Facts): boolean =>
  status === TOO_LARGE || TOO_LONG.test(`${reason} ${message}`);

/** It certainly did nothing, and may do it later; also where it refuses and says when to come back. */
function isBusy({ status, reason = '', message, networkCode, retryAfterMs: askedMs }: Facts): boolean {
  if (networkCode !== undefined && UNSENT_CODES.test(networkCode)) return true;
  if (status === UNAVAILABLE) return /overloaded/i.test(`${reason} ${message}`);
  if (status === undefined || isSuccess(status)) return BUSY_REASON.test(reason);
  const isLater = askedMs !== undefined || BUSY_REASON.test(reason);
  return BUSY.has(status) || (REFUSED_STATUSES.has(status) && isLater);
}

function textOf({ provider, modelId }: CalledModel, facts: Facts, hidden: Hidden): string {
  const { status, retryAfterMs: askedMs, reason, networkCode, name } = facts;
  const what = [
    status === undefined || (status < 300 && networkCode !== undefined) ? (networkCode ?? name) : `status ${status}`,
    ...(reason === undefined ? [] : [reason]),
    ...(askedMs === undefined ? [] : [`asks to wait ${Math.ceil(askedMs / 1_000)} s`]),
  ].join(', ');
  const said = status !== undefined && ABOUT_KEYS.has(status) ? '' : hidden.excerpt(facts.message);
  return hidden.clean(
    `${provider} ${modelId}: ${what}${said === '' ? '' : `: ${said}`}`.replace(/(?<![.\s])[.\s]*$/, '.'),
  );
}

const detailsOf = (model: CalledModel, { status, retryAfterMs: askedMs, reason, networkCode }: Facts) => ({
  provider: model.provider,
  modelId: model.modelId,
  ...(status !== undefined && { status }),
  ...((reason ?? networkCode) !== undefined && { reason: reason ?? networkCode }),
  ...(askedMs !== undefined && { retryAfterMs: askedMs }),
});

function factsOf(error: unknown): Facts {
  const fields = fieldsOf(error);
  const body = bodyOf(error);
  // Some SDKs give a piece of a stream as it is.
  const inBody = errorIn(body) ?? (error instanceof Error || typeof error !== 'object' ? undefined : fields);
  const own =
    typeof fields.statusCode === 'number' && Number.isInteger(fields.statusCode) ? fields.statusCode : undefined;
  const status = own === undefined || isSuccess(own) ? (statusIn(inBody) ?? own) : own;
  const said = inBody ?? (isSuccess(status) ? {} : body);
  return {
    name: typeof fields.name === 'string' && /^[\w.-]{1,80}$/.test(fields.name) ? fields.name : 'error',
    message: typeof said.message === 'string' ? said.message : messageOf(error),
    status,
    retryAfterMs:
      retryAfterMs(fields.responseHeaders, Date.now(), status === 429) ?? retryAfterMs(waitIn(said), Date.now(), false),
    reason: reasonOf(error, 0) ?? reasonOf(said, 0),
    isRetryable: typeof fields.isRetryable === 'boolean' ? fields.isRetryable : undefined,
    isSaid: inBody !== undefined || (status !== undefined && !isSuccess(status)),
    networkCode: networkCodeOf(error, 0),
  };
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/** What the provider answered, where the SDK keeps it: as text, as data, or as the value that it could not read. */
function bodyOf(error: unknown): Fields {
  const { responseBody, data, value, cause } = fieldsOf(error);
  if (typeof responseBody === 'object' && responseBody !== null) return fieldsOf(responseBody);
  if (typeof responseBody === 'string' && responseBody.length <= ERROR_BODY_MAX_CHARS) {
    try {
      return fieldsOf(JSON.parse(responseBody));
    } catch {
      // A page of a proxy.
    }
  }
  return fieldsOf(data ?? value ?? fieldsOf(cause).value);
}

/** `{ error: { … } }`, also within the `response` of a stream's piece, or a body that calls itself an error. */
function errorIn(body: unknown): Fields | undefined {
  const fields = fieldsOf(body);
  const { type, object } = fields;
  const error = fields.error ?? fieldsOf(fields.response).error;
  if (typeof error === 'string') return { message: error };
  if (typeof error === 'object' && error !== null) return error as Fields;
  return type === 'error' || object === 'error' ? fields : undefined;
}

const statusIn = (said: Fields | undefined): number | undefined =>
  typeof said?.code === 'number' && said.code >= 400 && said.code < 600 ? said.code : undefined;

/** Google says in the body how long to wait (google.rpc.RetryInfo), in seconds: `37s`. */
function waitIn({ details }: Fields): Fields {
  const asked = Array.isArray(details) ? details.map((each) => fieldsOf(each).retryDelay) : [];
  const delay = asked.find((each) => typeof each === 'string');
  return delay === undefined ? {} : { 'retry-after': delay.replace(/s$/, '') };
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message } = fieldsOf(error);
  return typeof message === 'string' ? message : '';
}

/** Errors and the bodies in them are nested no deeper than this. */
const DEPTH_MAX = 4;

/** A short lower-case word alone: other texts might contain anything. */
function reasonOf(error: unknown, depth: number): string | undefined {
  if (typeof error !== 'object' || error === null || depth > DEPTH_MAX) return undefined;
  const { code, type, status, data, error: inner } = error as Record<string, unknown>;
  // Google's are in capitals.
  const words = [code, type, status].map((word) => (typeof word === 'string' ? word : ''));
  for (const word of words.map((each) => (/^[A-Z_]+$/.test(each) ? each.toLowerCase() : each))) {
    if (/^[a-z]{2,20}(?:[_-][a-z]{1,20}){0,5}$/.test(word) && word !== 'error') return word;
  }
  return reasonOf(data, depth + 1) ?? reasonOf(inner, depth + 1);
}

function networkCodeOf(error: unknown, depth: number): string | undefined {
  if (!(error instanceof Error) || depth > DEPTH_MAX) return undefined;
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  return networkCodeOf(error.cause, depth + 1);
}
