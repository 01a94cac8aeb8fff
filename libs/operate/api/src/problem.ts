/**
 * Owns how failures are answered over HTTP: problem documents (RFC 9457) with the stable codes of the errors, and the status that follows
 * from what the caller can do next. A fault of the server itself shows no more than the code; a fault of the servers behind it shows
 * neither where they are nor what they answered.
 */

import { AccessError, ConflictError, InvalidError, LimitError, TidemarkError, UnavailableError } from '@tidemark/core';
import { z } from 'zod';
import { HEADERS_MAX_BYTES } from './limits.ts';

/** Seconds after which to retry, sent with a refusal for want of capacity or of a server. */
const RETRY_AFTER_S = 1;
/** Wrong fields that an answer names, and characters of a field's place and fault: both may quote the request. */
const PROBLEM_FIELDS_MAX_COUNT = 20;
const PROBLEM_FIELD_MAX_CHARS = 200;

export const PROBLEM_TYPE = 'application/problem+json';

export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'A name of the kind of problem: `urn:tidemark:problem:` and the code.' }),
    title: z.string(),
    status: z.int(),
    code: z.string().meta({ description: 'Stable; what programs decide by.' }),
    detail: z.string().meta({ description: 'For people: which field, and what to do.' }),
    fields: z
      .array(z.object({ field: z.string(), problem: z.string() }))
      .optional()
      .meta({ description: 'Of a request that is wrong in itself: each wrong field.' }),
  })
  .meta({ id: 'Problem', description: 'What went wrong (RFC 9457).' });

export type Problem = z.output<typeof problemSchema>;

export interface Reported {
  readonly problem: Problem;
  /** When to retry, in seconds. */
  readonly retryAfterS?: number;
  /** It is the server's fault: the server logs it. */
  readonly isFault: boolean;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request is wrong',
  401: 'The caller is not known',
  403: 'The caller may not do this',
  404: 'It was not found',
  405: 'The method is not served here',
  409: 'It conflicts with what happened before',
  408: 'The request did not come in time',
  410: 'It was forgotten for good',
  413: 'It is too large',
  414: 'The address is too long',
  415: 'The type of the body is not served',
  429: 'Too much is requested at once',
  431: 'Address and headers are too long',
  500: 'The server failed',
  503: 'The server is not able to do it now',
};

export const problem = (status: number, code: string, detail: string): Problem => ({
  type: `urn:tidemark:problem:${code}`,
  title: TITLES[status] ?? 'The request failed',
  status,
  code,
  detail,
});

/** The problem of a failure. */
export function reportedOf(error: unknown): Reported {
  if (!(error instanceof TidemarkError)) return fault('internal');
  const status = statusOf(error);
  if (status === 500) return fault(error.code);
  const fields = fieldsOf(error.details);
  const detail = BEHIND.test(error.code) ? BEHIND_DETAIL : error.message;
  const reported = { ...problem(status, error.code, detail), ...(fields !== undefined && { fields }) };
  const isLater = status === 429 || status === 503;
  const { retryAfterMs } = error.details;
  return {
    problem: reported,
    ...(isLater && { retryAfterS: typeof retryAfterMs === 'number' ? Math.ceil(retryAfterMs / 1_000) : RETRY_AFTER_S }),
    // A shed request is no fault.
    isFault: error instanceof UnavailableError,
  };
}

/** The wrong places in the input, as far as the failure names them: each field, or each place of a secret. */
function fieldsOf({ fields, found }: TidemarkError['details']): Problem['fields'] {
  if (!Array.isArray(found)) return fields as Problem['fields'];
  return found
    .slice(0, PROBLEM_FIELDS_MAX_COUNT)
    .map(({ place, kind }) => ({ field: String(place), problem: `is a secret (${kind})` }));
}

/** Codes of faults of a server behind this one, or of a folder: their messages name hosts, databases, buckets and keys. */
const BEHIND =
  /^(?:log|store|redis|keys|objects|blobs|files?|issuer)-(?:unavailable|missing|io-error|full|damaged|forbidden|failed)$|^disk-full$/;
const BEHIND_DETAIL = 'Something that the server needs is unavailable. Try again later; its log says what, and why.';

const fault = (code: string): Reported => ({
  problem: problem(500, code, 'The server could not do it. Its log says why; nothing was half done.'),
  isFault: true,
});

function statusOf(error: TidemarkError): number {
  const { code } = error;
  if (error instanceof AccessError) return code.startsWith('credentials-') ? 401 : 403;
  if (error instanceof InvalidError) return invalidStatus(code);
  if (error instanceof ConflictError) return 409;
  if (error instanceof LimitError) return limitStatus(code);
  if (error instanceof UnavailableError) return 503;
  return 500;
}

function limitStatus(code: string): number {
  if (code === 'bodies-too-many' || code === 'reads-too-many') return 503;
  return /^(?:body|json)-|-too-(?:large|long|deep)$/.test(code) ? 413 : 429;
}

function invalidStatus(code: string): number {
  if (code === 'history-forgotten') return 410;
  if (code === 'method-unknown') return 405;
  if (code === 'address-too-long') return 414;
  if (code === 'body-type-unknown') return 415;
  // The workflow exists.
  if (code === 'signal-unknown') return 400;
  return /-unknown$|^no-/.test(code) ? 404 : 400;
}

/** One wrong field of a request, by its place: `query.after`. */
export const invalidField = (field: string, problem: string): InvalidError =>
  new InvalidError('request-invalid', `The request is wrong: ${field}: ${problem}.`, { fields: [{ field, problem }] });

/** The words for a value that is too small or too large, for `safeParse`; other problems keep their own words. */
export const limitWords: z.core.$ZodErrorMap = (issue) => {
  if ((issue.code !== 'too_small' && issue.code !== 'too_big') || issue.inclusive === false) return undefined;
  const [side, bound] =
    issue.code === 'too_small' ? (['at least', issue.minimum] as const) : (['at most', issue.maximum] as const);
  const units = UNITS[issue.origin];
  return units && `Give ${side} ${bound}${units[bound === 1 ? 0 : 1]}`;
};

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: [' character', ' characters'],
  array: [' entry', ' entries'],
  number: ['', ''],
  int: ['', ''],
};

/** Makes an error of ours from wrong input, each field named by its place. */
export function invalidRequest(part: string, error: z.ZodError): InvalidError {
  const fields = error.issues.slice(0, PROBLEM_FIELDS_MAX_COUNT).map((issue) => ({
    field: [part, ...issue.path.map(String)].join('.').slice(0, PROBLEM_FIELD_MAX_CHARS),
    problem: issue.message.slice(0, PROBLEM_FIELD_MAX_CHARS),
  }));
  const list = fields.map(({ field, problem: what }) => `${field}: ${what}`).join('; ');
  return new InvalidError('request-invalid', `The request is wrong: ${list.slice(0, 2_000)}.`, {
    fields,
  });
}

/** The whole answer to bytes that are no request, such as headers that are too long. Null: there is nobody to answer. */
export function rawAnswer(fault: NodeJS.ErrnoException): string | null {
  if (fault.code === 'ECONNRESET') return null;
  const reported =
    fault.code === 'HPE_HEADER_OVERFLOW'
      ? problem(431, 'headers-too-long', `Address and headers together have more than ${HEADERS_MAX_BYTES} bytes.`)
      : fault.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? problem(408, 'request-late', 'The request did not come in time; send it again.')
        : problem(400, 'request-malformed', 'What was sent is not a request of HTTP/1.1.');
  const body = JSON.stringify(reported);
  return [
    `HTTP/1.1 ${reported.status} ${reported.title}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
