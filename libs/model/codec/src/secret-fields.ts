/**
 * Owns fields that are encrypted one by one: each becomes a text in place of its value, so that a reader of the rest of the payload sees
 * that there is a value, and not which. AES-256-GCM, bound to the workflow and to the value's place in it: the purpose (input, belief, an
 * effect's request …) and the path of the field. The same value under the same key at the same place gives the same text, so that beliefs
 * compare, requests keep their digest, and a retry sends the same request. An observer can therefore see that two values of one field are
 * equal. Must not know where keys come from, nor which fields are secret.
 *
 * S1 Two values share a nonce only by chance: it is derived from key, workflow, place and value.
 * S2 A text that doesn't open under the workflow's key is no secret of it, and is treated as plain text.
 */

import { createCipheriv, createDecipheriv, createHash, createHmac, type KeyObject } from 'node:crypto';
import { canonicalJson, type Json, STORED_BOUNDS } from '@tidemark/core';
import type { SealingKey } from './sealing.ts';

/** The number is the form's. */
const HEAD = 'secret:1:';
const KEY = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const FORM = new RegExp(`^${HEAD}([A-Za-z0-9_-]{22}):(${KEY}):([A-Za-z0-9_-]+)$`);
const PLACE_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_LABEL = 'tidemark secret nonce';

/** Shown in place of a secret field. */
export const SECRET_MASK = '[secret]';

/** The path of a secret field: names of members, `*` for every item of a list. */
export type SecretPath = readonly string[];

/** A place as texts are bound to it: a digest, in 22 characters. */
export const secretPlace = (purpose: string, path: SecretPath): string =>
  createHash('sha256')
    .update(JSON.stringify([purpose, ...path]))
    .digest()
    .subarray(0, PLACE_BYTES)
    .toString('base64url');

/** The value as a text that opens only under this key, for this workflow and at this place. */
export function sealSecret(value: Json, workflow: string, place: string, { id, key }: SealingKey): string {
  const plain = Buffer.from(canonicalJson(value));
  const bound = boundTo(workflow, place);
  const nonceKey = createHmac('sha256', key).update(NONCE_LABEL).digest();
  const made = createHmac('sha256', nonceKey).update(lengthOf(bound)).update(bound).update(plain).digest();
  const nonce = made.subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(bound));
  const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return `${HEAD}${place}:${id}:${body.toString('base64url')}`;
}

const boundTo = (workflow: string, place: string): string => `${workflow}\n${place}`;

/** A length prefix separates a part from the next one. */
const lengthOf = (text: string): string => `${Buffer.byteLength(text)}:`;

/** What a sealed field says about itself. */
export interface SealedSecret {
  /** Id of the key that sealed it. */
  readonly key: string;
  readonly place: string;
}

/** Undefined: the text is no sealed field. */
export function sealedSecret(text: string): SealedSecret | undefined {
  const [, place, key] = (text.startsWith(HEAD) ? FORM.exec(text) : null) ?? [];
  return key === undefined || place === undefined ? undefined : { key, place };
}

/** The value of a sealed text, opened at the place that it names. Undefined: it doesn't open (S2). */
export function openSecret(text: string, workflow: string, key: KeyObject): Json | undefined {
  const [, place = '', , body = ''] = FORM.exec(text) ?? [];
  const sealed = Buffer.from(body, 'base64url');
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tagAt = sealed.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(boundTo(workflow, place))).setAuthTag(sealed.subarray(tagAt));
    const plain = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, tagAt)), decipher.final()]);
    return JSON.parse(plain.toString()) as Json;
  } catch {
    return undefined;
  }
}

/**
 * Replaces every text in the value; returns the value itself when nothing changed. `from`: the path of the value. Levels beyond the bound
 * on stored payloads are not searched.
 */
export const mapTexts = (value: Json, replace: ReplaceText, from: SecretPath = []): Json =>
  mapFrom(value, replace, [...from], 0);

/** The path is reused after the call returns: copy it to keep it. */
export type ReplaceText = (text: string, path: SecretPath) => Json;

function mapFrom(value: Json, replace: ReplaceText, path: string[], depth: number): Json {
  if (typeof value === 'string') return replace(value, path);
  if (typeof value !== 'object' || value === null || depth > STORED_BOUNDS.depthMax) return value;
  if (Array.isArray(value)) {
    path.push('*');
    const mapped = value.map((member) => mapFrom(member, replace, path, depth + 1));
    path.pop();
    return mapped.some((member, at) => member !== value[at]) ? mapped : value;
  }
  let changed: Record<string, Json> | undefined;
  const object = value as { readonly [name: string]: Json };
  for (const [name, member] of Object.entries(object)) {
    path.push(name);
    const mapped = mapFrom(member, replace, path, depth + 1);
    path.pop();
    if (mapped === member) continue;
    changed ??= { ...object };
    // An own member, whatever its name is.
    Object.defineProperty(changed, name, { value: mapped, enumerable: true, configurable: true, writable: true });
  }
  return changed ?? value;
}

/** As `mapTexts`, for sealed fields only. */
export const mapSecrets = (
  value: Json,
  replace: (text: string, sealed: SealedSecret, path: SecretPath) => Json,
  from: SecretPath = [],
): Json =>
  mapTexts(
    value,
    (text, path) => {
      const sealed = sealedSecret(text);
      return sealed === undefined ? text : replace(text, sealed, path);
    },
    from,
  );

/** The value as a reader without the right to secrets sees it. */
export const maskSecrets = (value: Json): Json => mapSecrets(value, () => SECRET_MASK);

const IN_TEXT = new RegExp(`"${HEAD}[A-Za-z0-9_-]{22}:${KEY}:[A-Za-z0-9_-]+"`, 'g');

/** The same for JSON as text. */
export const maskSecretsIn = (json: string): string =>
  json.includes(`"${HEAD}`) ? json.replace(IN_TEXT, JSON.stringify(SECRET_MASK)) : json;
