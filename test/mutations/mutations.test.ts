/** The list of mutations keeps up with the source, and names tests of `npm test`. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { QUICK, stageOf } from '../../scripts/stages/stages.ts';
import { mutated } from './mutated.ts';
import { allMutations } from './mutations.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** So many, the guards among them, are the measure of `npm test`. */
const MUTATIONS_MIN = 60;
const mutations = Object.entries(allMutations());
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

test('there are enough of them', () => {
  expect(mutations.length).toBeGreaterThanOrEqual(MUTATIONS_MIN);
});

describe.each(mutations)('%s', (_, { file, edits, caughtBy, breaks }) => {
  test('changes a source that is there, and is caught by a quick test', () => {
    expect(mutated(read(file), edits, file)).not.toBe(read(file));
    expect([caughtBy, stageOf(caughtBy), read(caughtBy).length > 0]).toEqual([caughtBy, QUICK, true]);
    expect(breaks.length).toBeGreaterThan(10);
  });
});
