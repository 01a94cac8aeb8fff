/**
 * Owns fields that are encrypted one by one: each becomes a text of its own wherever its value would stand, so that whoever may read the
 * rest of a payload reads that there is something, and not what. AES-256-GCM, bound to the workflow and to the place that the value has in
 * it: what it is for (input, belief, an effect's request …) and the path of the field. The same value under the same key at the same place
 * gives the same text, so that beliefs compare, requests keep their digest, and a retry asks what it asked before; that two values of one
 * field are equal can therefore be seen. Must not know where keys come from, nor which fields are secret.
 *
 * S1 Two values never share a nonce but by chance: it is made from key, workflow, place and value.
 * S2 A text that does not open under the workflow's key is no secret of it, and stays the text that it is.
 */

import { createCipheriv, createDecipheriv, createHash, createHmac, type KeyObject } from 'node:crypto';
import { canonicalJson, type Json, STORED_BOUNDS } from '@tidemark/core';
import type { SealingKey } from './sealing.ts';

const HEAD = 'secret:';
const KEY = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** The first texts, without `2:PLACE:`, are bound to the workflow alone. */
const FORM = new RegExp(`^secret:(?:2:([A-Za-z0-9_-]{22}):)?(${KEY}):([A-Za-z0-9_-]+)$`);
const PLACE_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_LABEL = 'tidemark secret nonce';

/** What is shown in place of a secret field. */
export const SECRET_MASK = '[secret]';

/** Where a secret field stands: names of members, `*` for every item of a list. */
export type SecretPath = readonly string[];

/** A place as texts are bound to it: a digest, in 22 characters. */
export const secretPlace = (purpose: string, path: SecretPath): string =>
  createHash('sha256')
    .update(JSON.stringify([purpose, ...path]))
    .digest()
    .subarray(0, PLACE_BYTES)
    .toString('base64url');

/** The value as a text that opens under this key, for this workflow and at this place alone. */
export function sealSecret(value: Json, workflow: string, place: string, { id, key }: SealingKey): string {
  const plain = Buffer.from(canonicalJson(value));
  const bound = boundTo(workflow, place);
  const nonceKey = createHmac('sha256', key).update(NONCE_LABEL).digest();
  const made = createHmac('sha256', nonceKey).update(lengthOf(bound)).update(bound).update(plain).digest();
  const nonce = made.subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(bound));
  const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return `${HEAD}2:${place}:${id}:${body.toString('base64url')}`;
}

const boundTo = (workflow: string, place: string | undefined): string =>
  place === undefined ? workflow : `${workflow}\n${place}`;

/** Apart from what follows, however long it is. */
const lengthOf = (text: string): string => `${Buffer.byteLength(text)}:`;

/** What a sealed field says of itself. */
export interface SealedSecret {
  /** Id of the key that it was sealed with. */
  readonly key: string;
  /** Undefined: of the first form, which is bound to no place. */
  readonly place: string | undefined;
}

/** Undefined: it is no sealed field. */
export function sealedSecret(text: string): SealedSecret | undefined {
  const [, place, key] = (text.startsWith(HEAD) ? FORM.exec(text) : null) ?? [];
  return key === undefined ? undefined : { key, place };
}

/** The value, of the place that the text names. Undefined: it doesn't open (S2). */
export function openSecret(text: string, workflow: string, key: KeyObject): Json | undefined {
  const [, place, , body = ''] = FORM.exec(text) ?? [];
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
 * The value with each of its texts replaced, where it stands; the value itself where none was. `from`: where the value stands. Deeper than
 * what is stored nothing is looked for.
 */
export const mapTexts = (value: Json, replace: ReplaceText, from: SecretPath = []): Json =>
  mapFrom(value, replace, [...from], 0);

/** The path is the caller's own while it is called, and changes afterwards. */
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
    // As an own member, whatever it is called.
    Object.defineProperty(changed, name, { value: mapped, enumerable: true, configurable: true, writable: true });
  }
  return changed ?? value;
}

/** As `mapTexts`, of sealed fields alone. */
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

/** As whoever may not read them sees it. */
export const maskSecrets = (value: Json): Json => mapSecrets(value, () => SECRET_MASK);

const IN_TEXT = new RegExp(`"secret:(?:2:[A-Za-z0-9_-]{22}:)?${KEY}:[A-Za-z0-9_-]+"`, 'g');

/** The same of JSON as text. */
export const maskSecretsIn = (json: string): string =>
  json.includes(`"${HEAD}`) ? json.replace(IN_TEXT, JSON.stringify(SECRET_MASK)) : json;
