/**
 * Owns the form of the file of contexts. Checked by hand: every command that uses a server reads it, and zod alone would take a third of
 * such a command's time.
 */

import { CONTEXT_NAME } from '../limits.ts';

export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | {
      readonly kind: 'oidc';
      readonly issuer: string;
      readonly client_id: string;
      readonly refresh_token: string | null;
      readonly access_token: string;
      /** ISO 8601. */
      readonly expires_at: string;
    };

export interface Context {
  readonly url: string;
  readonly credential: Credential;
}

export interface ContextsFile {
  readonly version: 1;
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isTextOrNull: Check = (value) => value === null || isText(value);
const isName: Check = (value) => typeof value === 'string' && CONTEXT_NAME.test(value);
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether it has exactly these members, in the right form. */
const fits = (value: unknown, members: Readonly<Record<string, Check>>): boolean =>
  isObject(value) &&
  Object.keys(value).every((name) => Object.hasOwn(members, name)) &&
  Object.entries(members).every(([name, check]) => check(value[name]));

type MembersOf<Kind> = Omit<Extract<Credential, { kind: Kind }>, 'kind'>;
const CREDENTIALS: { readonly [Kind in Credential['kind']]: { readonly [Name in keyof MembersOf<Kind>]: Check } } = {
  none: {},
  key: { key: isText },
  oidc: {
    issuer: isText,
    client_id: isText,
    refresh_token: isTextOrNull,
    access_token: isText,
    expires_at: isText,
  },
};

function isCredential(value: unknown): boolean {
  if (!isObject(value) || typeof value.kind !== 'string' || !Object.hasOwn(CREDENTIALS, value.kind)) return false;
  return fits(value, { kind: isText, ...CREDENTIALS[value.kind as Credential['kind']] });
}

/** The place that is not as `tidemark login` writes it. Undefined: it is a `ContextsFile`. */
export function oddIn(value: unknown): string | undefined {
  const whole = {
    version: (version: unknown) => version === 1,
    current: (current: unknown) => current === null || isName(current),
    contexts: isObject,
  };
  if (!fits(value, whole)) return 'it';
  const odd = Object.entries((value as ContextsFile).contexts).find(
    ([name, context]) => !isName(name) || !fits(context, { url: isText, credential: isCredential }),
  );
  if (odd === undefined) return undefined;
  return isName(odd[0]) ? `contexts.${odd[0]}` : 'the name of a context';
}
