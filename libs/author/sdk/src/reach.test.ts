import { describe, expect, it } from 'vitest';
import { reach } from './reach.ts';

const codes = (...args: Parameters<typeof reach>) => reach(...args).problems.map(({ code }) => code);

describe('reach', () => {
  it('begins with the one step that no other names', () => {
    expect(reach({ price: ['credit'], credit: ['confirm'], confirm: [] }, undefined)).toEqual({
      starts: ['price'],
      problems: [],
    });
  });

  it('takes a step that only names itself for one that no other names', () => {
    expect(reach({ think: ['act', 'think'], act: [] }, undefined).starts).toEqual(['think']);
  });

  it('asks for starts when several steps are named by no other, or none', () => {
    const [several] = reach({ parse: [], merge: [] }, undefined).problems;
    expect(several?.code).toBe('starts-missing');
    expect(several?.message).toContain("starts: ['parse', 'merge']");
    expect(codes({ a: ['b'], b: ['a'] }, undefined)).toEqual(['starts-missing']);
  });

  it('accepts several starts, and a cycle with one', () => {
    expect(codes({ parse: [], merge: [] }, ['parse', 'merge'])).toEqual([]);
    expect(codes({ a: ['b'], b: ['a'] }, ['a'])).toEqual([]);
  });

  it('finds the steps that nothing reaches', () => {
    expect(codes({ parse: [], merge: [] }, ['parse'])).toEqual(['step-unreached']);
    // An island that names itself has no source, but no way in either.
    const { problems } = reach({ a: ['b'], b: [], x: ['y'], y: ['x'] }, undefined);
    expect(problems.map(({ message }) => message.split(' ').slice(0, 2).join(' '))).toEqual(['step x', 'step y']);
  });
});
