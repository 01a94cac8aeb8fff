/**
 * Owns the workflow of `bench -- tiers --only commits`: steps at a steady pace until a moment, after which its output tells when each step
 * ended and the next began, by the wall clock. What is between two steps is the commit of a checkpoint, and the way to the next.
 */

import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

interface Times {
  readonly endedMs: number[];
  readonly beganMs: number[];
}

const noted = new Map<string, Times>();
const nowMs = (): number => performance.timeOrigin + performance.now();

export const pulse = defineWorkflow({
  name: 'bench-pulse',
  version: 1,
  durability: 'durable',
  input: z.object({ pauseMs: z.number(), untilMs: z.number(), bytes: z.int() }),
  belief: z.object({ beats: z.int() }),
  output: z.object({ endedMs: z.array(z.number()), beganMs: z.array(z.number()) }),
  tasks: { beat: z.object({ n: z.int() }) },
  flow: { beat: ['beat'] },
  starts: ['beat'],
  begin: () => ({ belief: { beats: 0 }, next: [task('beat', { n: 1 })] }),
  steps: {
    async beat(ctx, { n }) {
      const { pauseMs, untilMs, bytes } = ctx.input;
      const times = noted.get(ctx.workflow) ?? { endedMs: [], beganMs: [] };
      noted.set(ctx.workflow, times);
      times.beganMs.push(nowMs());
      const belief = () => ({ beats: n });
      if (nowMs() > untilMs) {
        noted.delete(ctx.workflow);
        return { belief, done: { endedMs: times.endedMs, beganMs: times.beganMs } };
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      times.endedMs.push(nowMs());
      return { belief, output: 'x'.repeat(bytes), next: [task('beat', { n: n + 1 })] };
    },
  },
});
