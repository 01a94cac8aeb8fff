/** Owns reading values from the command line: JSON itself, `@file`, or `-` for standard input. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isTooDeep, JSON_DEPTH_MAX } from '@tidemark/api/shapes';
import { InvalidError, type Json } from '@tidemark/core';
import { INPUT_MAX_BYTES } from './limits.ts';
import type { Session } from './session.ts';
import { bytes } from './text/units.ts';

/** A workflow's input; `{}` where none is given. Throws as `readJson` does. */
export const readInput = async (given: string | undefined, session: Pick<Session, 'stdin' | 'cwd'>): Promise<Json> =>
  given === undefined ? {} : readJson('--input', given, session);

/** Throws `InvalidError` (`input-not-json`, `input-unreadable`, `input-too-large`, `input-too-deep`) that names where it came from. */
export async function readJson(
  option: string,
  given: string,
  { stdin, cwd }: Pick<Session, 'stdin' | 'cwd'>,
): Promise<Json> {
  if (given === '-') return parse(await readAll(stdin), `${option}: standard input`);
  if (!given.startsWith('@')) return parse(Buffer.from(given), option);
  const file = given.slice(1);
  let read: Buffer;
  try {
    read = await readFile(path.resolve(cwd, file));
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message;
    throw new InvalidError('input-unreadable', `${option} @${file}: ${why}.`, { cause });
  }
  return parse(read, `${option}: ${file}`);
}

async function readAll(stdin: Session['stdin']): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const buffer = Buffer.from(chunk as Uint8Array);
    chunks.push(buffer);
    size += buffer.length;
    if (size > INPUT_MAX_BYTES) {
      throw new InvalidError('input-too-large', `standard input: at most ${bytes(INPUT_MAX_BYTES)} fit.`);
    }
  }
  return Buffer.concat(chunks);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Whatever is wrong with what was given is refused, and nothing of it changed. */
function parse(given: Uint8Array, from: string): Json {
  let text: string;
  try {
    text = UTF8.decode(given);
  } catch (cause) {
    throw new InvalidError('input-not-json', `${from} is not UTF-8.`, { cause });
  }
  if (isTooDeep(given)) {
    throw new InvalidError('input-too-deep', `${from} is more than ${JSON_DEPTH_MAX} levels deep.`);
  }
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    const why = text.trim() === '' ? 'it is empty' : (cause as Error).message;
    throw new InvalidError('input-not-json', `${from} is not JSON: ${why}.`, { cause });
  }
}
