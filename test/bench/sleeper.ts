/** Owns the workflow of `bench -- wakes`: it does a step, keeps 10 KB, and sleeps until a signal comes. */

import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { z } from 'zod';
import { pseudoRandomText } from './pseudo-random.ts';

const KEPT_CHARS = 10_240;
const kept = pseudoRandomText(2 * KEPT_CHARS);
let onWoken: (id: string) => void = () => undefined;

/** Called in the process that runs the step behind the signal. */
export function whenWoken(listener: (id: string) => void): void {
  onWoken = listener;
}

export const sleeper = defineWorkflow({
  name: 'bench-wakes',
  version: 1,
  durability: 'durable',
  input: z.object({ id: z.string() }),
  belief: z.object({ kept: z.string() }),
  output: z.null(),
  tasks: { prepare: z.object({}), woken: z.object({}) },
  flow: { prepare: ['woken'], woken: [] },
  starts: ['prepare'],
  signals: { go: z.null() },
  begin: () => ({ belief: { kept: '' }, next: [task('prepare', {})] }),
  steps: {
    prepare: ({ input }) => {
      const from = input.id.length + ((Number(input.id.split('-').at(-1)) * 31) % KEPT_CHARS);
      const text = input.id + kept.slice(from, from + KEPT_CHARS - input.id.length);
      return { belief: () => ({ kept: text }), next: [task('woken', {}, { when: signal('go') })] };
    },
    woken: ({ input }) => {
      onWoken(input.id);
      return { done: null };
    },
  },
});
