/**
 * Owns the workflow of `bench -- load`: steps at the times that its input says, each leaving about 1 KB, and now and then an effect in the
 * ledger outside. A step waits until it is due, as one that asks a model waits for the answer. The process that runs the steps counts how
 * long it takes from the end of one to the beginning of the next, and tells by datagrams: whoever measures must not slow what is measured.
 */

import { createSocket } from 'node:dgram';
import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { deposit, wire } from '../../chaos/workload.ts';
import { pseudoRandomText } from '../pseudo-random.ts';
import { MADE_UP_MAX_MS, NOTE_PERIOD_MS, STEP_BYTES, STEPS_PER_EFFECT } from './limits.ts';
import { addTime, type Times } from './times.ts';

/** What a worker tells now and then. */
export interface Note {
  readonly pid: number;
  /** End of a step to the beginning of the next. */
  readonly stepToStep: readonly (readonly [number, number])[];
  /** How much later than it was due each step began. */
  readonly late: readonly (readonly [number, number])[];
  /** Workflows whose last step has run: a hint. */
  readonly ended: readonly string[];
}

const ENDED_PER_NOTE_MAX = 200;
const TEXT_CHARS = 65_536;
const port = process.env.TIDEMARK_LOAD_NOTES;
const text = pseudoRandomText(TEXT_CHARS);
const endedMs = new Map<string, { readonly n: number; readonly atMs: number }>();
const stepToStep: Times = new Map();
const late: Times = new Map();
const ended: string[] = [];
if (port !== undefined) startNotes(Number(port));

export const loadSteps = defineWorkflow({
  name: 'bench-load',
  version: 1,
  durability: 'durable',
  input: z.object({ steps: z.int().positive(), periodMs: z.number().positive(), firstDueMs: z.number() }),
  belief: z.object({ done: z.int(), receipts: z.int() }),
  output: z.object({ done: z.int(), receipts: z.int() }),
  tasks: { step: z.object({ n: z.int(), dueMs: z.number() }) },
  flow: { step: ['step'] },
  starts: ['step'],
  effects: [deposit, wire],
  begin: ({ firstDueMs }) => ({ belief: { done: 0, receipts: 0 }, next: [task('step', { n: 1, dueMs: firstDueMs })] }),
  steps: {
    async step(ctx, { n, dueMs }) {
      const { steps, periodMs } = ctx.input;
      const beganMs = Date.now();
      began(ctx.workflow, n, beganMs - dueMs);
      // Behind: half a period, so that what was missed is made up for without a burst.
      await until(Math.max(dueMs, beganMs + (n === 1 ? 0 : periodMs / 2)), ctx.signal);
      let { receipts } = ctx.belief;
      if (n % STEPS_PER_EFFECT === 0) {
        const effect = (n / STEPS_PER_EFFECT) % 2 === 0 ? deposit : wire;
        receipts += (await ctx.effect(effect, { action: `${ctx.workflow}/${n}`, amount: n })).receipt;
      }
      const from = (n * 7_919) % (TEXT_CHARS - STEP_BYTES);
      const output = text.slice(from, from + STEP_BYTES);
      const belief = { done: n, receipts };
      if (n === steps) {
        endedMs.delete(ctx.workflow);
        ended.push(ctx.workflow);
        return { belief: () => belief, output, done: belief };
      }
      endedMs.set(ctx.workflow, { n, atMs: performance.now() });
      const next = Math.max(dueMs + periodMs, Date.now() - MADE_UP_MAX_MS);
      return { belief: () => belief, output, next: [task('step', { n: n + 1, dueMs: next })] };
    },
  },
});

function began(workflow: string, n: number, lateMs: number): void {
  const before = endedMs.get(workflow);
  endedMs.delete(workflow);
  // One that was taken over has no time from here.
  if (before?.n !== n - 1) return;
  addTime(stepToStep, performance.now() - before.atMs);
  addTime(late, Math.max(0, lateMs));
}

/** Resolves at that moment of the wall clock; rejects when the step must stop. */
async function until(dueMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const waitMs = dueMs - Date.now();
  if (waitMs <= 0) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(resolve, waitMs);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

function startNotes(to: number): void {
  const socket = createSocket('udp4').unref();
  const sendNote = (): void => {
    if (stepToStep.size === 0 && ended.length === 0) return;
    const note: Note = {
      pid: process.pid,
      stepToStep: [...stepToStep],
      late: [...late],
      ended: ended.splice(0, ENDED_PER_NOTE_MAX),
    };
    stepToStep.clear();
    late.clear();
    socket.send(JSON.stringify(note), to, '127.0.0.1', () => {});
  };
  setInterval(sendNote, NOTE_PERIOD_MS).unref();
}
