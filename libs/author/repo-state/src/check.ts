/**
 * Owns running a stage's check and its evidence. The command is the repository's own, as a script in its manifest is; it runs in a shell,
 * in the state's root, without input. It gets its own process group, so that nothing of it outlives its time. Secrets in its output are
 * masked before anything is stored.
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { isoTime } from '@tidemark/core';
import { maskSecrets } from '@tidemark/secrets';
import type { CheckEvidence } from './state-file.ts';
import type { Clock } from './times.ts';

/** Time that a check gets to end by itself, in milliseconds, before it is killed. */
const CHECK_GRACE_MS = 2_000;
/** Last lines of a check's output that are kept: how many, and characters of each at most. */
const CHECK_LINES_MAX = 20;
const CHECK_LINE_MAX_CHARS = 400;

export interface CheckOptions {
  /** The folder it runs in. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly now: Clock;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

/** By which a person approves a command: of the command and the folder in which it runs, since `npm test` is another command elsewhere. */
export const checkDigest = (command: string, folder: string): string =>
  createHash('sha256').update(path.resolve(folder)).update('\0').update(command).digest('hex');

/** Characters kept of the end of the output, enough for the last lines. */
const TAIL_CHARS = CHECK_LINES_MAX * CHECK_LINE_MAX_CHARS * 4;
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

/** Never throws for the command's failure: a command that can't be started has failed. */
export async function runCheck(command: string, { cwd, timeoutMs, now, signal }: CheckOptions): Promise<CheckEvidence> {
  const startedMs = now();
  const child = spawn(command, {
    cwd,
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  const digest = createHash('sha256');
  let sizeBytes = 0;
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new TextDecoder();
    stream.on('data', (chunk: Buffer) => {
      digest.update(chunk);
      sizeBytes += chunk.length;
      tail = (tail + decoder.decode(chunk, { stream: true })).slice(-TAIL_CHARS);
    });
  }
  let endedBy: string | undefined;
  let grace: NodeJS.Timeout | undefined;
  const end = (why: string): void => {
    endedBy ??= why;
    killGroup(child.pid, 'SIGTERM');
    grace ??= setTimeout(() => killGroup(child.pid, 'SIGKILL'), CHECK_GRACE_MS);
  };
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  const onAbort = (): void => end('interrupt');
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  const { code, by } = await new Promise<{ code: number | null; by: string | null }>((resolve) => {
    child.once('error', (error) => {
      tail += `\n${error.message}`;
      resolve({ code: null, by: 'not started' });
    });
    child.once('close', (exitCode, exitSignal) => resolve({ code: exitCode, by: exitSignal }));
  });
  clearTimeout(timer);
  clearTimeout(grace);
  signal?.removeEventListener('abort', onAbort);
  endedBy ??= by ?? undefined;
  return {
    command,
    exit_code: code,
    passed: code === 0 && endedBy === undefined,
    ...(endedBy === undefined ? {} : { ended_by: endedBy }),
    output: lastLines(tail),
    output_sha256: digest.digest('hex'),
    output_bytes: sizeBytes,
    duration_ms: Math.max(0, Math.round(now() - startedMs)),
    at: isoTime(startedMs),
  };
}

/** Kills everything that the command started, where the system has groups. */
function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // It has ended.
  }
}

/** Masks it as one text, since a secret may span several lines. */
function lastLines(tail: string): string[] {
  const lines = maskSecrets(tail.replace(COLOURS, '')).trimEnd().split(/\r?\n/);
  const last = lines[0] === '' && lines.length === 1 ? [] : lines.slice(-CHECK_LINES_MAX);
  return last.map((line) => (line.length <= CHECK_LINE_MAX_CHARS ? line : `${line.slice(0, CHECK_LINE_MAX_CHARS)}…`));
}
