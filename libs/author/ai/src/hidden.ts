/**
 * Owns keeping keys and headers of a provider out of errors, records and logs: it masks known ones wherever they occur, and whatever looks
 * like one. Must never throw, and never reveal what it knows.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { EchoMask, maskSecrets } from '@tidemark/secrets';

/** Characters of a provider's own words that an error shows. */
const EXCERPT_MAX_CHARS = 300;
/** Characters of a provider's own words that are read for that. */
const PROVIDER_TEXT_MAX_CHARS = 4_000;
/** Longest wait for a provider's headers, which are needed to mask them, in milliseconds. */
const HEADERS_WAIT_MS = 1_000;

/** The secrets of one call. */
export interface Hidden {
  /** A provider's own words, safe to show: one line, bounded, without secrets. */
  readonly excerpt: (text: string) => string;
  /** The value without known secrets; names of members stay. */
  readonly clean: <T>(value: T) => T;
}

type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Knows the headers of the call, those in the configuration of the SDK's providers, the user's own texts, and the values of environment
 * variables with names such as `…_API_KEY`.
 */
export async function hiddenOf(
  model: unknown,
  headers: Headers | undefined,
  secrets: readonly string[],
): Promise<Hidden> {
  const known = new Set<string>();
  for (const value of [...secrets, ...secretEnvironment()]) known.add(value);
  for (const each of [headers ?? {}, await configuredHeaders(model)]) {
    for (const [name, value] of Object.entries(each)) {
      if (!HARMLESS.test(name) && typeof value === 'string') addHeader(known, value);
    }
  }
  // Some gateways send the model's own name as a header.
  const names = namesOf(model);
  const mask = new EchoMask(
    [...known].filter((value) => !names.includes(value)),
    MARK,
  );
  return {
    excerpt: (text) => excerpt(mask.text(text.slice(0, PROVIDER_TEXT_MAX_CHARS))),
    clean: (value) => (mask.isEmpty ? value : (mapTexts(value, (text) => mask.text(text)) as typeof value)),
  };
}

const MARK = '[hidden]';
/** Headers that reveal nothing. */
const HARMLESS = /^(?:content-type|accept|user-agent)$/i;
const SECRET_NAME = /(?:key|token|secret|password|passwd|credentials?)$/i;

/** In `Bearer KEY`, the key is also secret by itself. */
function addHeader(known: Set<string>, value: string): void {
  known.add(value);
  for (const word of value.split(/[\s,;]+/)) known.add(word);
}

const secretEnvironment = (): string[] =>
  Object.entries(process.env).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined ? [value] : [],
  );

function namesOf(model: unknown): string {
  const { provider, modelId } = (model ?? {}) as { readonly provider?: unknown; readonly modelId?: unknown };
  return `${String(provider)} ${String(modelId)}`;
}

/** The SDK's providers keep their headers, or a function that returns them, in `config.headers` of the model. */
async function configuredHeaders(model: unknown): Promise<Record<string, unknown>> {
  try {
    const config = (model as { readonly config?: { readonly headers?: unknown } } | null)?.config;
    const headers: unknown = typeof config?.headers === 'function' ? config.headers() : config?.headers;
    const found = await Promise.race([headers, wait(HEADERS_WAIT_MS, undefined, { ref: false })]);
    return typeof found === 'object' && found !== null ? { ...found } : {};
  } catch {
    return {};
  }
}

/** `authorization: …`, `API key provided: …`, `x-anything: …`, `Bearer …`, up to the next comma or line. */
const HEADER_LIKE =
  /(?:\b(?:auth[a-z]*|(?:proxy-)?authorization|api[-_ ]?key|(?:access|refresh|auth|id|session)[-_ ]?token|secret|cookie|passw[a-z]*|credentials?|signature)\b[^\n:=]{0,30}[:=]|\bx-[a-z0-9-]{1,60}["']?\s{0,20}[:=]|\b(?:bearer|basic)\s)\s*[^\n,]+/gi;

function excerpt(text: string): string {
  const shown = withoutJson(maskSecrets(text))
    // An address may hold a key.
    .replaceAll(/\b[a-z][a-z0-9+.-]{0,30}:\/\/\S+/gi, '[address]')
    .replaceAll(HEADER_LIKE, MARK)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return (shown.length <= EXCERPT_MAX_CHARS ? shown : `${shown.slice(0, EXCERPT_MAX_CHARS - 1)}…`).toWellFormed();
}

/** A provider that quotes a request quotes it as JSON. */
function withoutJson(text: string): string {
  const start = text.indexOf('{');
  const end = text.lastIndexOf('}');
  return start < 0 || end < start ? text : `${text.slice(0, start)}{…}${text.slice(end + 1)}`;
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapTexts(each, change)]));
}
