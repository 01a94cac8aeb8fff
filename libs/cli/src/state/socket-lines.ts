/**
 * Owns the language on the socket of a state folder: JSON objects, one a line. The holder greets; then calls are answered
 * by their number, in any order, and news comes between answers once it was asked for. Must not know what calls mean.
 *
 *   holder → caller  {"tidemark": 5, "pid": 4711, "command": "dev"}
 *   caller → holder  {"id": 1, "call": "workflow", "with": ["refund-8821"]}
 *   holder → caller  {"id": 1, "value": {…}}      or {"id": 1, "error": {"name": …, "code": …, "message": …, "details": {…}}}
 *   holder → caller  {"news": {"type": "applied"}}
 */

import { readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import path from 'node:path';
import { SOCKET_LINE_MAX_BYTES } from '../limits.ts';

/** Raised when the two sides would misunderstand each other. */
export const SOCKET_VERSION = 5;

export interface Greeting {
  readonly tidemark: number;
  readonly pid: number;
  readonly command: 'dev' | 'run';
}

export interface Call {
  readonly id: number;
  readonly call: string;
  readonly with: readonly unknown[];
}

export interface ErrorNote {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  /** What the error is about, by field name; absent where that is no plain data. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ErrorNote };

export const socketPath = (folder: string): string => path.join(folder, 'tidemark.sock');

/** Where the socket really is: a link, where the folder's own path would be too long for one. */
export async function resolveSocket(folder: string): Promise<string> {
  const named = socketPath(folder);
  return await readlink(named).catch(() => named);
}

export function writeLine(socket: Socket, value: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(value)}\n`);
}

/** Calls `onLine` for each line; a peer that sends what is no JSON, or a line without end, is cut off. */
export function readLines(socket: Socket, onLine: (value: unknown) => void): void {
  let parts: Buffer[] = [];
  let held = 0;
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]).toString('utf8');
      parts = [];
      held = 0;
      rest = rest.subarray(end + 1);
      try {
        onLine(JSON.parse(line));
      } catch (error) {
        socket.destroy(error as Error);
        return;
      }
    }
    parts.push(rest);
    held += rest.length;
    if (held > SOCKET_LINE_MAX_BYTES) socket.destroy(new Error('line too long'));
  });
}
