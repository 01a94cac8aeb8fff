/**
 * Owns the errors for a call whose answer is larger than an event may be. They say that the call was made, how large its answer is, how
 * much fits, and what can be done. It appends nothing.
 */

import { type Json, LimitError } from '@tidemark/core';
import { type EffectDefinition, ParkError } from '../definition/index.ts';
import { EVENT_MAX_BYTES } from '../views/index.ts';
import type { AskedCall } from './effect-drafts.ts';

/**
 * Characters of a response that is too large for the log, as JSON, in the question to a person. They fit into the question's evidence,
 * however they are escaped.
 */
const BEGINNING_MAX_CHARS = 10_000;

const CODE = 'outcome-too-large';

/** The error for a model call, whose cost is recorded without the answer. `cause` names size and limit. */
export const answerTooLarge = ({ operation }: EffectDefinition, cause: LimitError): LimitError =>
  new LimitError(
    CODE,
    `${said(operation, cause)} Its cost is recorded, and it is not retried automatically. ${place(cause)}Ask for a shorter answer (maxOutputTokens), or in several calls.`,
    { ...cause.details, cause },
  );

/**
 * The error that parks the workflow for any other effect: its outcome stays open until a person gives a response that fits. The evidence
 * has the beginning of the response.
 */
export function responseTooLarge(
  { key, effect: { operation, kind } }: AskedCall,
  response: Json,
  cause: LimitError,
): ParkError {
  const again = kind === 'irreversible' ? '' : ', or fix it and call it again with the same key (retry)';
  const { sizeBytes = null, maxBytes = null } = cause.details as { readonly [name: string]: Json };
  return new ParkError(
    CODE,
    `${said(operation, cause)} ${place(cause)}Make the effect return less, or a reference. The evidence has the beginning of this response: give the part that is needed as the response (done)${again}.`,
    key,
    { operation, sizeBytes, maxBytes, beginning: JSON.stringify(response).slice(0, BEGINNING_MAX_CHARS) },
  );
}

const said = (operation: string, { message }: LimitError): string =>
  `${operation} was called and has answered, and its answer can't be recorded: ${message}`;

/** The advice to configure a place for large payloads; empty if the log has one already. */
const place = ({ details: { maxBytes } }: LimitError): string =>
  typeof maxBytes === 'number' && maxBytes <= EVENT_MAX_BYTES
    ? 'With a store for large payloads (TIDEMARK_ARCHIVE_URL) 64 MiB fit. '
    : '';
