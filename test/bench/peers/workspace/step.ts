/**
 * Owns what a step does, the same in every system: it makes a text, by default of 1 KB, from the last step's, and tells the bench when it began where
 * that was asked for. The text is pseudo-random (6 bits a letter), and of each workflow another, so that no store gains by compressing what
 * repeats.
 */

import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type Given, NOTES_VARIABLE, type Note, PACED_STEP_MS } from './protocol.ts';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** A linear congruential generator modulo 2^32 (Numerical Recipes, 7.1), as in test/bench/pseudo-random.ts, which is outside this workspace. */
const FACTOR = 1_664_525;
const SUMMAND = 1_013_904_223;

/** The next text of so many letters, which depends on the workflow, on the last text and on the number of the step alone. */
export function nextPayload({ id, bytes }: Pick<Given, 'id' | 'bytes'>, previous: string, n: number): string {
  let state = n;
  for (const seed of [id, previous.slice(0, 16)])
    for (let at = 0; at < seed.length; at++) state = (Math.imul(state, 31) + seed.charCodeAt(at)) | 0;
  const letters = Buffer.allocUnsafe(bytes);
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, FACTOR) + SUMMAND) | 0;
    letters[at] = LETTERS.charCodeAt(state >>> 26);
  }
  return letters.toString('latin1');
}

const startedMs = new Map<string, number[]>();

/** Step `n` (1, 2, 3 …) of a workflow: the text to keep. */
export function doStep(given: Given, n: number, previous: string): string | Promise<string> {
  const { id, steps, mode } = given;
  if (mode === 'quiet') return nextPayload(given, previous, n);
  const nowMs = performance.timeOrigin + performance.now();
  if (mode === 'paced' || mode === 'woken') {
    sendNote({ workflow: id, pid: process.pid, n, isLast: n === steps, startedMs: [nowMs] });
    if (mode === 'woken') return nextPayload(given, previous, n);
    return wait(PACED_STEP_MS).then(() => nextPayload(given, previous, n));
  }
  const times = startedMs.get(id) ?? [];
  startedMs.set(id, times);
  times.push(nowMs);
  if (n === steps) {
    startedMs.delete(id);
    sendNote({ workflow: id, pid: process.pid, n, isLast: true, startedMs: times });
  }
  return nextPayload(given, previous, n);
}

let socket: Socket | undefined;

function sendNote(note: Note): void {
  if (socket === undefined) {
    socket = connect(Number(process.env[NOTES_VARIABLE]), '127.0.0.1');
    socket.setNoDelay(true);
    // The bench is gone: there is nobody to tell.
    socket.on('error', () => undefined);
    socket.unref();
  }
  socket.write(`${JSON.stringify(note)}\n`);
}
