/** Owns the order of test files: the longest first, so that no core waits for a long one at the end. */

import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from '../run-program.ts';
import { SLOW_FILES } from './slow-files.ts';

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId }: TestSpecification): number =>
      SLOW_FILES[path.relative(ROOT, moduleId).replaceAll(path.sep, '/')] ?? 0;
    const known = await super.sort(files);
    return known.toSorted((a, b) => secondsOf(b) - secondsOf(a));
  }
}
