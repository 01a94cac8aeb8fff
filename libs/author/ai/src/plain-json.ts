/** Owns turning the SDK's values into JSON: dates and addresses become texts, bytes base64 or a digest. Pure. */

import { createHash } from 'node:crypto';
import { InvalidError, type Json } from '@tidemark/core';

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

type Content = string | Uint8Array;

/** The contents of all files in the value, by their digests. */
export function filesIn(value: unknown, found = new Map<string, Content>()): ReadonlyMap<string, Content> {
  if (typeof value !== 'object' || value === null) return found;
  for (const member of Object.values(value)) {
    if (holdsContent(member)) found.set(digestOf(member.data).sha256, member.data);
    else if (!(member instanceof Uint8Array)) filesIn(member, found);
  }
  return found;
}

/**
 * The reverse of `withFileDigests` and `plain`, of a prompt: files with their contents, and addresses as such. Throws `InvalidError`
 * (`file-missing`) for a file that `files` lacks.
 */
export function withFileContents(value: Json, files: ReadonlyMap<string, Content>): unknown {
  if (Array.isArray(value)) return value.map((member) => withFileContents(member, files));
  if (typeof value !== 'object' || value === null) return value;
  const { type } = value as { readonly type?: Json };
  const isFile = type === 'file' || type === 'reasoning-file';
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isFile && name === 'data' ? fileData(member as never, files) : withFileContents(member, files),
    ]),
  );
}

function fileData(
  data: { readonly type?: Json; readonly sha256?: string; readonly url?: string },
  files: ReadonlyMap<string, Content>,
): unknown {
  if (data?.type === 'url' && data.url !== undefined) return { ...data, url: new URL(data.url) };
  if (data?.sha256 === undefined) return data;
  const content = files.get(data.sha256);
  if (content !== undefined) return { type: 'data', data: content };
  throw new InvalidError(
    'file-missing',
    `What is recorded has a file (SHA-256 ${data.sha256}) that this attempt doesn't have, and its content is not recorded, so it can't be sent again.`,
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
