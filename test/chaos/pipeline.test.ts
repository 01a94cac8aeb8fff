/** The interrupted pipeline, in small; and its judge, on histories that it must call bad. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIVES_MAX, STEPS } from './pipeline-limits.ts';
import { type End, endsOf, runPipeline } from './pipeline-run.ts';
import { judgePipeline, type StepNote } from './pipeline-witness.ts';
import { Random } from './random.ts';

/** Each life is a process that starts; a busy machine needs many times the half minute. */
const TIMEOUT_MS = 300_000;

const notes = (words: string): StepNote[] =>
  words.split(' ').map((word) => ({ step: STEPS[Number(word[1])]!, what: word[0] === 'b' ? 'begin' : 'end', pid: 1 }));

describe('the judge', () => {
  it.each([
    ['b0 e0 b1 e1 b2 e2', { repeatedCount: 0, lostCount: 0, againCount: 0, tokens: 3_000 }],
    // Killed in the midst of a step, and between a step's end and its checkpoint: lost, not repeated.
    ['b0 e0 b1 b1 e1 b2', { repeatedCount: 0, lostCount: 1, againCount: 0 }],
    ['b0 e0 b0 e0 b1', { repeatedCount: 0, lostCount: 1, againCount: 1 }],
    // A later step had begun: what ran again had been done for good.
    ['b0 e0 b1 b0 e0 b1', { repeatedCount: 1, lostCount: 1 }],
    ['b0 e0 b1 e1 b2 b0 e0 b1 e1 b2', { repeatedCount: 2, againCount: 2, lostCount: 1 }],
  ])('of %s', (words, expected) => {
    expect(judgePipeline(notes(words))).toMatchObject(expected);
  });

  it('gets the same lives from the same seed, the first within the steps', () => {
    expect(endsOf(new Random(3), 5)).toEqual(endsOf(new Random(3), 5));
    for (let seed = 0; seed < 100; seed++) {
      const [first] = endsOf(new Random(seed), 5);
      expect(first?.during).toBe('steps');
      expect(first?.share).toBeLessThan(1);
    }
  });
});

describe('a pipeline whose process is killed with -9 twice', () => {
  let folder: string;
  let common: Omit<Parameters<typeof runPipeline>[0], 'state' | 'livesMax'>;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-pipeline-test-'));
    const docs = path.join(folder, 'docs');
    await mkdir(docs);
    await writeFile(path.join(docs, 'one.md'), `# One\n\n${'A sentence of five words. '.repeat(40)}\n`);
    const ends: readonly End[] = [0.5, 0.5].map((share) => ({ during: 'steps', share }));
    common = { folder: path.join(folder, 'run'), docs, stepMs: 200, startMs: 0, ends };
  });
  afterEach(() => rm(folder, { recursive: true }));

  it(
    'finishes with state, and repeats nothing that was done for good',
    async () => {
      const ran = await runPipeline({ ...common, state: 'tidemark', livesMax: LIVES_MAX });
      expect(ran.output).toContain('## 1. One');
      expect(ran.killCount).toBeGreaterThan(0);
      expect(ran.repeatedCount).toBe(0);
      expect(ran.lostCount).toBeLessThanOrEqual(ran.killCount);
    },
    TIMEOUT_MS,
  );

  it(
    'repeats steps without (the control), whether it has no state or loses it',
    async () => {
      // Killed late, so that a second step has begun on the slowest machine too: what is repeated is what was done before it.
      const late = { ...common, stepMs: 400, ends: [0.7, 0.7].map((share): End => ({ during: 'steps', share })) };
      const plain = await runPipeline({ ...late, state: 'none', livesMax: 2 });
      expect(plain).toMatchObject({ output: undefined, killCount: 2 });
      expect(plain.repeatedCount).toBeGreaterThan(0);
      const lost = { ...late, folder: path.join(folder, 'lost'), forgets: true };
      expect((await runPipeline({ ...lost, state: 'tidemark', livesMax: 3 })).repeatedCount).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
