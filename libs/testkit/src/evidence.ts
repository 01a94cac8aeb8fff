/**
 * Owns what a failed test prints beside its error: the newest lines of the processes and commands that its file started, and of the logs of
 * its own servers. Nobody reads them when a test passes, so they are kept instead of printed. Outside of tests lines of processes go to
 * standard error at once.
 */

import { channel } from 'node:diagnostics_channel';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Lines that are kept, of all processes of a file together. */
const LINES_MAX = 200;
/** Characters of a line that are kept. */
const LINE_CHARS = 2_000;
/** Ended servers of a file whose logs are kept. */
const ENDED_LOGS_MAX = 6;
/** How many lines of each log are printed. */
const LOG_TAIL_LINES = 30;

const isTested = process.env.VITEST !== undefined;
const kept: string[] = [];
/** Logs of servers that run, by file, and tails of those that have ended. */
const logs = new Map<string, string>();
const endedLogs: string[] = [];

/** Keeps a line of the process named `source`. */
export function noteLine(source: string, line: string): void {
  const text = `${source}: ${line.slice(0, LINE_CHARS)}`;
  if (!isTested) {
    process.stderr.write(`${text}\n`);
    return;
  }
  kept.push(text);
  if (kept.length > LINES_MAX) kept.shift();
}

/** Keeps a process's output, line by line; returns a function that takes its chunks. */
export const noteOutput = (source: string) => (chunk: string | Uint8Array) => {
  const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
  for (const line of text.split('\n')) if (line.trim() !== '') noteLine(source, line);
};

/** `{ source, text }`: for fixtures of packages that do not know the testkit. */
channel('tidemark:test-output').subscribe((message) => {
  const { source, text } = message as { readonly source: string; readonly text: string | Uint8Array };
  noteOutput(source)(text);
});

/** The log of a server that this process started. */
export const noteLog = (name: string, file: string): void => void logs.set(file, name);

/** Call it before that server ends, and its log with it. */
export function endLog(file: string): void {
  const name = logs.get(file);
  if (name === undefined) return;
  logs.delete(file);
  endedLogs.push(tailOf(name, file));
  if (endedLogs.length > ENDED_LOGS_MAX) endedLogs.shift();
}

/** Everything to print, oldest first. Lines of processes are returned once. */
export function takeEvidence(): string {
  const lines = kept.splice(0);
  const processes = lines.length > 0 ? [['--- processes', ...lines].join('\n')] : [];
  return [...processes, ...endedLogs.splice(0), ...[...logs].map(([file, name]) => tailOf(name, file))].join('\n');
}

/** The newest lines of a log, below its name. */
export function tailOf(name: string, file: string): string {
  try {
    return [`--- ${name} (${file})`, ...readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES)].join(
      '\n',
    );
  } catch {
    return `--- ${name} (${file}): gone`;
  }
}

/** Those of all logs in a folder. */
export const tailsIn = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.log') && !name.includes('node_modules'))
    .map((name) => tailOf(name, path.join(folder, name)))
    .join('\n');
