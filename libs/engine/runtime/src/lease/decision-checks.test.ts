/** What is refused of a decision before it is written. */

import { InvalidError, type Question, type StreamState } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { checkDecision, checkFits, checkName, checkText, fittingResolutions } from './decision-checks.ts';

const NOTHING_TO_SEE = ['', ' ', '\u00a0', '\u200b', '\u2800', '\u3164', '\u2028', '\u00ad \ufeff'];

describe('names and reasons', () => {
  it.each(NOTHING_TO_SEE)('%j is nobody, and no reason', (text) => {
    expect(() => checkName('by', text)).toThrow(/^by: .*visible/);
    expect(() => checkText('why', text)).toThrow(/^why: .*visible/);
    const decision = { resolution: 'retry', by: 'Ada', why: 'asked' } as const;
    expect(() => checkDecision({ ...decision, by: text })).toThrow(InvalidError);
    expect(() => checkDecision({ ...decision, why: text })).toThrow(InvalidError);
  });

  it.each(['Ada', ' Ada ', '李', 'ع', '👩‍🚀', '.'])('%j can be seen', (text) => {
    expect(checkName('by', text)).toBe(text);
    expect(() => checkText('why', text)).not.toThrow();
  });
});

describe('which answers fit', () => {
  const question = { id: 'q', code: 'compensation-stuck', task: null, key: null } as unknown as Question;
  const state = { compensates: null, undo: null } as unknown as StreamState;

  it('an ordinary workflow may be compensated', () => {
    expect(fittingResolutions(state, question)).toEqual(['retry', 'compensate', 'fail']);
  });

  it('an undo may not, since nothing of it could be', () => {
    const undo = { ...state, compensates: { workflow: 'w', depth: 1 } } as unknown as StreamState;
    expect(fittingResolutions(undo, question)).toEqual(['retry', 'fail']);
    expect(() => checkFits(undo, question, 'compensate')).toThrow(/is itself an undo/);
  });
});
