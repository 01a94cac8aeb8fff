/** Owns reading values from the command line: JSON itself, `@file`, or `-` for standard input. */

import { createReadStream } from 'node:fs';
import path from 'node:path';
import { InvalidError, type Json, LimitError, parseJson, TidemarkError } from '@tidemark/core';
import type { Session } from './session.ts';
import { bytes } from './text/units.ts';

/** Largest input of a workflow, in bytes, that is read from a file or standard input. */
const INPUT_MAX_BYTES = 16_777_216;

/** A workflow's input; `{}` where none is given. Throws as `readJson` does. */
export const readInput = async (given: string | undefined, session: Pick<Session, 'stdin' | 'cwd'>): Promise<Json> =>
  given === undefined ? {} : readJson('--input', given, session);

/** Throws `InvalidError` (`input-unreadable`) and `LimitError` (`input-too-large`) that name the source, and as `parseJson` does. */
export async function readJson(
  option: string,
  given: string,
  { stdin, cwd }: Pick<Session, 'stdin' | 'cwd'>,
): Promise<Json> {
  if (given === '-') return parse(await readAll(stdin, `${option}: standard input`), `${option}: standard input`);
  if (!given.startsWith('@')) return parse(Buffer.from(given), option);
  const file = given.slice(1);
  const from = `${option}: ${file}`;
  try {
    return parse(await readAll(createReadStream(path.resolve(cwd, file)), from), from);
  } catch (cause) {
    if (cause instanceof TidemarkError) throw cause;
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message;
    throw new InvalidError('input-unreadable', `${option} @${file}: ${why}.`, { cause });
  }
}

async function readAll(source: AsyncIterable<Uint8Array | string>, from: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    const buffer = Buffer.from(chunk as Uint8Array);
    chunks.push(buffer);
    size += buffer.length;
    if (size > INPUT_MAX_BYTES)
      throw new LimitError('input-too-large', `${from}: at most ${bytes(INPUT_MAX_BYTES)} fit.`);
  }
  return Buffer.concat(chunks);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Refuses faulty input, and never changes any of it. */
function parse(given: Uint8Array, from: string): Json {
  let text: string;
  try {
    text = UTF8.decode(given);
  } catch (cause) {
    throw new InvalidError('json-invalid', `${from} is not UTF-8.`, { cause });
  }
  return parseJson(text, from);
}
