/** Owns turning the SDK's values into JSON: dates and addresses become texts, bytes base64 or a digest. Pure. */

import { createHash } from 'node:crypto';
import type { Json } from '@tidemark/core';

/** The value as JSON has it; undefined for what JSON can't hold at all. */
export function plain(value: unknown): Json | undefined {
  const text = JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member));
  return text === undefined ? undefined : (JSON.parse(text) as Json);
}

export const base64 = (data: string | Uint8Array): string =>
  typeof data === 'string' ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');

/** The value with every file's content as its digest: bytes and base64 of the same content give the same. */
export function withFileDigests(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withFileDigests);
  if (typeof value !== 'object' || value === null || value instanceof URL || value instanceof Date) return value;
  const members = Object.entries(value);
  const isFile = members.some(
    ([name, member]) => name === 'type' && (member === 'file' || member === 'reasoning-file'),
  );
  return Object.fromEntries(
    members.map(([name, member]) => [
      name,
      isFile && name === 'data' && holdsContent(member) ? digestOf(member.data) : withFileDigests(member),
    ]),
  );
}

function holdsContent(data: unknown): data is { readonly data: string | Uint8Array } {
  const content = (data as { readonly data?: unknown } | null)?.data;
  return typeof content === 'string' || content instanceof Uint8Array;
}

function digestOf(content: string | Uint8Array) {
  const bytes = contentBytes(content);
  return { type: 'data', sha256: createHash('sha256').update(bytes).digest('hex'), sizeBytes: bytes.length };
}

/** A text that isn't clean base64 counts as itself: decoding it would make different ones the same. */
function contentBytes(content: string | Uint8Array): Uint8Array {
  if (typeof content !== 'string') return content;
  const bytes = Buffer.from(content, 'base64');
  return bytes.toString('base64') === content ? bytes : Buffer.from(content);
}
