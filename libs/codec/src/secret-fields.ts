/**
 * Owns fields that are encrypted one by one: each becomes a text of its own wherever its value would stand, so that whoever may read the
 * rest of a payload reads that there is something, and not what. AES-256-GCM, bound to the workflow. The same value under the same key
 * gives the same text, so that beliefs compare, requests keep their digest, and a retry asks what it asked before; two equal fields of
 * one workflow can therefore be seen to be equal. Must not know where keys come from, nor which fields are secret.
 *
 * S1 Two values never share a nonce but by chance: it is made from key, workflow and value.
 * S2 A text that does not open under the workflow's key is no secret of it, and stays the text that it is.
 */

import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto';
import { canonicalJson, type Json, STORED_BOUNDS } from '@tidemark/core';
import type { SealingKey } from './sealing.ts';

const HEAD = 'secret:';
const FORM = /^secret:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):([A-Za-z0-9_-]+)$/;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_LABEL = 'tidemark secret nonce';

/** What is shown in place of a secret field. */
export const SECRET_MASK = '[secret]';

/** The value as a text that opens under this key and for this workflow alone. */
export function sealSecret(value: Json, bound: string, { id, key }: SealingKey): string {
  const plain = Buffer.from(canonicalJson(value));
  const nonceKey = createHmac('sha256', key).update(NONCE_LABEL).digest();
  const made = createHmac('sha256', nonceKey).update(lengthOf(bound)).update(bound).update(plain).digest();
  const nonce = made.subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(bound));
  const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return `${HEAD}${id}:${body.toString('base64url')}`;
}

/** Apart from what follows, however long it is. */
const lengthOf = (text: string): string => `${Buffer.byteLength(text)}:`;

/** The id of the key that a text says it was sealed with; undefined: it is no sealed field. */
export const secretSealedWith = (text: string): string | undefined =>
  text.startsWith(HEAD) ? FORM.exec(text)?.[1] : undefined;

/** Undefined: it doesn't open (S2). */
export function openSecret(text: string, bound: string, key: KeyObject): Json | undefined {
  const sealed = Buffer.from(FORM.exec(text)?.[2] ?? '', 'base64url');
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tagAt = sealed.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(bound)).setAuthTag(sealed.subarray(tagAt));
    const plain = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, tagAt)), decipher.final()]);
    return JSON.parse(plain.toString()) as Json;
  } catch {
    return undefined;
  }
}

/** The value with each sealed field replaced; the value itself where there is none. Deeper than what is stored nothing is looked for. */
export const mapSecrets = (value: Json, replace: Replace): Json => mapFrom(value, replace, 0);

type Replace = (text: string, key: string) => Json;

function mapFrom(value: Json, replace: Replace, depth: number): Json {
  if (typeof value === 'string') {
    const key = secretSealedWith(value);
    return key === undefined ? value : replace(value, key);
  }
  if (typeof value !== 'object' || value === null || depth > STORED_BOUNDS.depthMax) return value;
  if (Array.isArray(value)) {
    const mapped = value.map((member) => mapFrom(member, replace, depth + 1));
    return mapped.some((member, at) => member !== value[at]) ? mapped : value;
  }
  let changed: Record<string, Json> | undefined;
  const object = value as { readonly [name: string]: Json };
  for (const [name, member] of Object.entries(object)) {
    const mapped = mapFrom(member, replace, depth + 1);
    if (mapped === member) continue;
    changed ??= { ...object };
    // As an own member, whatever it is called.
    Object.defineProperty(changed, name, { value: mapped, enumerable: true, configurable: true, writable: true });
  }
  return changed ?? value;
}

/** As whoever may not read them sees it. */
export const maskSecrets = (value: Json): Json => mapSecrets(value, () => SECRET_MASK);

const IN_TEXT = /"secret:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[A-Za-z0-9_-]+"/g;

/** The same of JSON as text. */
export const maskSecretsIn = (json: string): string =>
  json.includes(`"${HEAD}`) ? json.replace(IN_TEXT, JSON.stringify(SECRET_MASK)) : json;
