/**
 * Owns the judgement of a run from outside: what its steps told the witness. That a later step has begun proves that those
 * before it were done for good; one of those that begins again is repeated. What begins again without that proof was
 * under way when its process died: its work is lost, one step's for each death at most.
 */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { STEPS, TOKENS_PER_STEP, WITNESS_FILE } from './pipeline-limits.ts';

export interface StepNote {
  readonly step: string;
  readonly what: 'begin' | 'end';
  readonly pid: number;
}

export interface Judgement {
  /** Steps that were done for good and ran again. */
  readonly repeatedCount: number;
  /** Steps that began once more because they were under way at a death. */
  readonly lostCount: number;
  /** Steps whose end was told before, and that ran again, whether they were done for good or not. */
  readonly againCount: number;
  readonly tokens: number;
}

export function judgePipeline(notes: readonly StepNote[]): Judgement {
  let furthest = -1;
  let repeatedCount = 0;
  let lostCount = 0;
  let againCount = 0;
  const begun = new Set<string>();
  const ended = new Set<string>();
  for (const { step, what } of notes) {
    if (what === 'end') {
      ended.add(step);
      continue;
    }
    const place = (STEPS as readonly string[]).indexOf(step);
    if (place < furthest) repeatedCount++;
    else if (begun.has(step)) lostCount++;
    if (ended.has(step)) againCount++;
    furthest = Math.max(furthest, place);
    begun.add(step);
  }
  const tokens = notes.filter(({ what }) => what === 'begin').length * TOKENS_PER_STEP;
  return { repeatedCount, lostCount, againCount, tokens };
}

export async function readWitness(folder: string): Promise<readonly StepNote[]> {
  const text = await readFile(path.join(folder, WITNESS_FILE), 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as StepNote]));
}
