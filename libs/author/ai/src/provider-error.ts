/**
 * Owns the meaning of a provider's error: refused, busy, or unknown. Reads the SDK's errors by their fields, since several copies of its
 * classes may be loaded. Must not send anything.
 */

import { REFUSED_STATUSES, retryAfterMs } from '@tidemark/core';
import type { Usage } from '@tidemark/runtime';
import {
  ModelBusyError,
  ModelContentRefusedError,
  ModelRefusedError,
  ModelStreamError,
  ModelUnavailableError,
  type Received,
  STREAM_BROKEN,
  STREAM_REFUSED,
} from './errors.ts';
import type { Hidden } from './hidden.ts';

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
    return isOfContent(facts)
      ? new ModelContentRefusedError(text, { usage: NO_USAGE }, details)
      : new ModelRefusedError(text, details);
  }
  if (isBusy(facts)) return new ModelBusyError(text, details);
  const isMalformed = MALFORMED_NAMES.has(facts.name) || (facts.status !== undefined && facts.status < 300);
  return isMalformed
    ? new ModelUnavailableError(
        'model-answer-malformed',
        `${text} The answer can't be read; it may have been paid for.`,
        details,
      )
    : new ModelUnavailableError('model-unavailable', `${text} Whether it was answered is unknown.`, details);
}

/** The error of an answer that broke off. */
export function streamError(model: CalledModel, error: unknown, received: Received, hidden: Hidden): Error {
  const facts = factsOf(error);
  const text = textOf(model, facts, hidden);
  if (isOfContent(facts))
    return new ModelContentRefusedError(text, hidden.clean(received), hidden.clean(detailsOf(model, facts)));
  const isFinal = facts.reason !== undefined && FINAL_REASON.test(facts.reason);
  return new ModelStreamError(
    isFinal ? STREAM_REFUSED : STREAM_BROKEN,
    text,
    hidden.clean(received),
    hidden.clean(detailsOf(model, facts)),
  );
}

function isRefused({ name, status, reason, isRetryable, retryAfterMs: askedMs }: Facts): boolean {
  if (UNSENT_NAMES.has(name)) return true;
  if (status === undefined) return false;
  if (REFUSED_STATUSES.has(status)) return askedMs === undefined;
  return status === 429 && (isRetryable === false || (reason !== undefined && FINAL_REASON.test(reason)));
}

/** It certainly did nothing, and may do it later; also where it refuses and says when to come back. */
function isBusy({ status, reason, message, networkCode }: Facts): boolean {
  if (networkCode !== undefined && UNSENT_CODES.test(networkCode)) return true;
  if (status === UNAVAILABLE) return /overloaded/i.test(`${reason} ${message}`);
  return status !== undefined && (BUSY.has(status) || REFUSED_STATUSES.has(status));
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
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const status = fields.statusCode;
  return {
    name: typeof fields.name === 'string' && /^[\w.-]{1,80}$/.test(fields.name) ? fields.name : 'error',
    message: messageOf(error),
    status: typeof status === 'number' && Number.isInteger(status) ? status : undefined,
    retryAfterMs: retryAfterMs(fields.responseHeaders, Date.now(), status === 429),
    reason: reasonOf(error, 0),
    isRetryable: typeof fields.isRetryable === 'boolean' ? fields.isRetryable : undefined,
    networkCode: networkCodeOf(error, 0),
  };
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = (error as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : '';
}

/** Errors and the bodies in them are nested no deeper than this. */
const DEPTH_MAX = 4;

/** A short lower-case word alone: other texts might contain anything. */
function reasonOf(error: unknown, depth: number): string | undefined {
  if (typeof error !== 'object' || error === null || depth > DEPTH_MAX) return undefined;
  const { code, type, data, error: inner } = error as Record<string, unknown>;
  for (const word of [code, type]) {
    if (typeof word === 'string' && /^[a-z]{2,20}(?:[_-][a-z]{1,20}){0,5}$/.test(word) && word !== 'error') return word;
  }
  return reasonOf(data, depth + 1) ?? reasonOf(inner, depth + 1);
}

function networkCodeOf(error: unknown, depth: number): string | undefined {
  if (!(error instanceof Error) || depth > DEPTH_MAX) return undefined;
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  return networkCodeOf(error.cause, depth + 1);
}
