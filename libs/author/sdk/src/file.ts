/**
 * Owns files in messages: checking them, and what stands for one where only text can be. Must not read files, nor fetch what lies at an
 * address.
 */

import { type FilePart, InvalidError } from '@tidemark/core';
import { FILE_MAX_BYTES, SPOKEN_FILE_MIN_CHARS } from './limits.ts';

/** A file for a message: its bytes (also as base64), or the address from which the provider reads it. */
export interface FileSource {
  /** `image/png`, `application/pdf` … */
  readonly mediaType: string;
  readonly data: Uint8Array | string | URL;
  readonly filename?: string | undefined;
}

/** Throws `InvalidError` (`file-invalid`), which names the field. */
export const file = ({ mediaType, data, filename }: FileSource): FilePart =>
  checkedFile(
    {
      type: 'file',
      mediaType,
      ...(data instanceof URL && { url: data.href }),
      ...(data instanceof Uint8Array && {
        data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
      }),
      ...(typeof data === 'string' && { data }),
      ...(filename !== undefined && { filename }),
    },
    'file()',
  );

const MEDIA_TYPE = /^[a-z]+\/[\w.+-]{1,100}$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export function checkedFile(given: FilePart, where: string): FilePart {
  const { mediaType, data, url, filename } = given;
  const refuse = (field: string, wanted: string): never => {
    throw new InvalidError('file-invalid', `${where}, ${field}: ${wanted}.`, { field });
  };
  if (typeof mediaType !== 'string' || !MEDIA_TYPE.test(mediaType)) refuse('mediaType', 'give one such as image/png');
  if (filename !== undefined && (typeof filename !== 'string' || filename.length > 255))
    refuse('filename', 'give at most 255 characters, or leave it out');
  if (url !== undefined) {
    if (data !== undefined) refuse('url', 'give either data or url');
    if (!/^(?:https?|gs|s3):$/.test(URL.parse(url)?.protocol ?? ''))
      refuse('url', 'give one of https:, http:, gs: or s3:');
    return given;
  }
  if (typeof data !== 'string' || data === '' || !BASE64.test(data))
    refuse('data', 'give the bytes, or them as base64');
  if (sizeOf(given) > FILE_MAX_BYTES)
    refuse(
      'data',
      `it has ${sizeOf(given)} bytes, and at most ${FILE_MAX_BYTES} are stored with a message: store it where the provider can read it, and give its url`,
    );
  return given;
}

const sizeOf = ({ data = '' }: Pick<FilePart, 'data'>): number => Math.floor((data.length * 3) / 4);

/** `[photo.png, image/png, 1234 bytes]` */
export const noteOf = (given: FilePart): string => {
  const { mediaType, url, filename } = checkedFile(given, 'userMessage');
  const what = url === undefined ? `${sizeOf(given)} bytes` : url;
  return `[${filename === undefined ? '' : `${filename}, `}${mediaType}, ${what}]`;
};

/** JSON with each file, in the forms of MCP and of the AI SDK, in words: base64 says nothing to a model, and costs it dearly. */
export function withoutFiles(value: unknown): unknown {
  if (typeof value === 'string') {
    const [head, mediaType] = DATA_URL.exec(value) ?? [];
    return head !== undefined && isFile(value.slice(head.length))
      ? inWords(mediaType!, value.slice(head.length))
      : value;
  }
  if (Array.isArray(value)) return value.map(withoutFiles);
  if (typeof value !== 'object' || value === null) return value;
  const { mimeType, mediaType = mimeType, data, blob = data } = value as { readonly [name: string]: unknown };
  if (typeof mediaType === 'string' && typeof blob === 'string' && isFile(blob)) return inWords(mediaType, blob);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutFiles(each)]));
}

const DATA_URL = /^data:([\w/.+-]{1,100});base64,/;
const isFile = (data: string): boolean => data.length >= SPOKEN_FILE_MIN_CHARS && BASE64.test(data);
const inWords = (mediaType: string, data: string): string =>
  `[${mediaType}, ${sizeOf({ data })} bytes: a tool's file is not shown to the model]`;
