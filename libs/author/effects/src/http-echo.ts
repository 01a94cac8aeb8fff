/**
 * Owns masking parts of a request that its receiver sends back: credentials in everything made from an answer, and every header's value in
 * an error, which only explains. The runtime masks secret fields of requests, for every effect alike.
 */

import { EchoMask } from '@tidemark/secrets';
import type { ReadyRequest } from './http-request.ts';

const MARK = '[redacted]';
/** Headers that reveal nothing. */
const HARMLESS: ReadonlySet<string> = new Set(['content-type', 'accept']);
/** Headers and parameters of an address that hold credentials. */
const CREDENTIAL =
  /^(?:(?:proxy-)?authorization|cookie|sig|signature)$|(?:api|auth|access|secret|private|signing|session)[-_]?(?:key|token)|(?:^|[-_])token$|secret|passw|credential/i;
const SCHEME = /^(?:bearer|basic|digest|token|apikey|negotiate)$/i;

export interface HttpEcho {
  /** Masks an answer's text, before anything else reads it. */
  readonly text: (text: string) => string;
  readonly headers: (headers: Headers) => Headers;
  /** Masks the beginning of an unwelcome answer. */
  readonly excerpt: (text: string) => string;
}

/** `keyHeader`: of the idempotency key, which is no secret. */
export function echoOf({ url, headers }: Pick<ReadyRequest, 'url' | 'headers'>, keyHeader: string): HttpEcho {
  const sent = [...headers].filter(([name]) => !HARMLESS.has(name) && name !== keyHeader.toLowerCase());
  const parameters = [...url.searchParams].filter(([name]) => CREDENTIAL.test(name)).map(([, value]) => value);
  const credentials = sent.filter(([name]) => CREDENTIAL.test(name)).flatMap(([, value]) => credentialsIn(value));
  const known = new EchoMask([...credentials, ...parameters], MARK);
  const all = new EchoMask([...sent.flatMap(([, value]) => partsOf(value)), ...credentials, ...parameters], MARK);
  return {
    text: (text) => known.text(text),
    headers: (given) => new Headers([...given].map(([name, value]): [string, string] => [name, known.text(value)])),
    excerpt: (text) => all.cutText(text),
  };
}

/** Receivers echo parts of `Bearer abc` and `session=abc; other=def` as well. */
const partsOf = (value: string): readonly string[] => [value, ...value.split(/[\s;,=]+/)];

/** The value, and its parts that are secret alone: no scheme, no cookie's name; for `Basic …` the password. */
function credentialsIn(value: string): readonly string[] {
  const words = value.split(/[\s;,]+/).filter((word) => !SCHEME.test(word));
  const given = words.map((word) => word.slice(word.indexOf('=') + 1 || 0) || word);
  const [, basic] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const decoded = basic === undefined ? '' : Buffer.from(basic, 'base64').toString();
  return [value, ...words, ...given, decoded, decoded.slice(decoded.indexOf(':') + 1)];
}
