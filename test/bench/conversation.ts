/**
 * Owns the texts of measured conversations: real prose and code, as it stands in the documentation of this project's dependencies, cut into
 * turns. No text comes twice, so nothing is won by its repetition.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

export interface Turn {
  readonly user: string;
  readonly agent: string;
}

/** So many turns, each of `turnBytes` of which `userBytes` are the user's. */
export function conversation(count: number, userBytes: number, turnBytes: number): readonly Turn[] {
  const bytes = prose(count * turnBytes);
  const text = (from: number, to: number): string => bytes.subarray(from, to).toString('latin1');
  return Array.from({ length: count }, (_, turn) => {
    const at = turn * turnBytes;
    return { user: text(at, at + userBytes), agent: text(at + userBytes, at + turnBytes) };
  });
}

/** ASCII, so that a byte is a character wherever it is cut. */
export function prose(wantedBytes: number): Buffer {
  const parts: string[] = [];
  let length = 0;
  for (const name of readdirSync(modules).sort()) {
    const file = path.join(modules, name, 'README.md');
    const text = readOr(file).replaceAll(/[^\x20-\x7e\n]/g, ' ');
    parts.push(text);
    length += text.length;
    if (length >= wantedBytes) return Buffer.from(parts.join('\n').slice(0, wantedBytes), 'latin1');
  }
  throw new Error(`The documentation of the dependencies has ${length} bytes, ${wantedBytes} are wanted.`);
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
