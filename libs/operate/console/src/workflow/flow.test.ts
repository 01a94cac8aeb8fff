import { describe, expect, it } from 'vitest';
import { columnsOf } from './flow.tsx';

describe('where steps stand', () => {
  it('puts each as far from the start as the shortest way there, whatever leads back', () => {
    const steps = { plan: ['act', 'think'], act: ['think'], think: ['act', 'plan', 'end'], end: [] };
    expect(columnsOf(['plan'], steps)).toEqual([['plan'], ['act', 'think'], ['end']]);
  });

  it('keeps steps that nothing leads to, and leaves out those that are not there', () => {
    expect(columnsOf(['a', 'ghost'], { a: ['ghost'], lonely: [] })).toEqual([['a'], ['lonely']]);
  });
});
