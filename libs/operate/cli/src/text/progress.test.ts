import { expect, it } from 'vitest';
import { progressBar } from './progress.ts';

it('shows how far a step is', () => {
  expect(progressBar({ step: 'parse', done: 1_000, total: 2_000, text: 'src/a.ts' })).toBe(
    'parse ████████████░░░░░░░░░░░░ 1,000 of 2,000  src/a.ts',
  );
});

it('stays within its bar, whatever a step says', () => {
  expect(progressBar({ step: 's', done: 9, total: 3 })).toBe(`s ${'█'.repeat(24)} 9 of 3`);
  expect(progressBar({ step: 's', done: -1, total: 3 })).toBe(`s ${'░'.repeat(24)} -1 of 3`);
  expect(progressBar({ step: 's', done: 0, total: 0 })).toBe(`s ${'░'.repeat(24)} 0 of 0`);
});
