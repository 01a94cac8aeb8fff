import { describe, expect, it } from 'vitest';
import { flowLines } from './flow.ts';

const card = (flow: Record<string, string[]>, starts: string[] | null = null) => ({
  name: 'x',
  version: 1,
  starts,
  flow,
  warnings: [],
  effects: [],
  signals: null,
});

describe('the flow as text', () => {
  it('draws a line of steps', () => {
    const lines = flowLines(card({ price: ['credit'], credit: ['confirm'], confirm: [] }));
    expect(lines).toEqual(['price', '└─ credit', '   └─ confirm']);
  });

  it('draws branches, joins and loops once each', () => {
    const flow = { think: ['act', 'think', 'tell'], act: ['tell'], tell: [] };
    expect(flowLines(card(flow, ['think']))).toEqual([
      'think',
      '├─ act',
      '│  └─ tell',
      '├─ think ↺',
      '└─ tell (see above)',
    ]);
  });

  it('draws several starts beside each other', () => {
    const lines = flowLines(card({ a: ['c'], b: ['c'], c: [] }, ['a', 'b']));
    expect(lines).toEqual(['├─ a', '│  └─ c', '└─ b', '   └─ c (see above)']);
  });

  it('finds what begins where only the runtime part is known, also in a cycle', () => {
    expect(flowLines(card({ b: [], a: ['b', 'a'] }))).toEqual(['a', '├─ b', '└─ a ↺']);
    expect(flowLines(card({ a: ['b'], b: ['a'] }))).toEqual(['a', '└─ b', '   └─ a ↺']);
  });

  it('puts marks behind steps', () => {
    expect(flowLines(card({ a: [] }), (step) => ` <${step}>`)).toEqual(['a <a>']);
  });
});
