/** Hand-overs as text: what is written is read back, and what others wrote stays. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { handoffDigests, handoffText, readHandoffs, withHandoffs } from './handoff-text.ts';

const one = {
  from: 'collect',
  to: 'filter',
  message: 'Two items.\n\nThe second is short.',
  artifacts: ['a b.json', 'b'],
};

describe('a hand-over', () => {
  it('is a heading, its text, its artifacts', () => {
    expect(handoffText(one)).toBe(
      '## collect → filter Handoff\n\nTwo items.\n\nThe second is short.\n\nArtifacts:\n- a b.json\n- b\n',
    );
  });

  it.each([
    ['## A → B Handoff\n\nHello', [{ from: 'A', to: 'B', message: 'Hello', artifacts: [] }]],
    ['# Notes\nfree\n## a -> b handoff\r\nHi\r\n', [{ from: 'a', to: 'b', message: 'Hi', artifacts: [] }]],
    [
      '## a → b Handoff\n## c → d Handoff\nx',
      [
        { from: 'a', to: 'b', message: '', artifacts: [] },
        { from: 'c', to: 'd', message: 'x', artifacts: [] },
      ],
    ],
    ['## Something else\ntext', []],
    ['', []],
  ])('is read from %j', (text, expected) => {
    expect(readHandoffs(text)).toEqual(expected);
  });

  it('is read back as it was written, whatever it says', () => {
    const line = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => /^[\w.-]+( [\w.-]+)*$/.test(text));
    const message = fc
      .array(fc.oneof(fc.string(), fc.constantFrom('## a → b Handoff', '\\## x', 'Artifacts:', '- one', '\n')))
      .map((lines) => lines.join('\n').replaceAll('\r', '').trim());
    fc.assert(
      fc.property(line, line, message, fc.array(line, { minLength: 1 }), (from, to, said, artifacts) => {
        const handoff = { from, to, message: said, artifacts };
        const text = handoffText(handoff);
        expect(readHandoffs(text)).toEqual([handoff]);
        expect(handoffDigests(readHandoffs(text))).toEqual(handoffDigests([handoff]));
      }),
    );
  });

  it('that is there is not added again, and what somebody else wrote stays', () => {
    const text = '# Mine\n\n## me → filter Handoff\n\nLook at row 3.';
    const with1 = withHandoffs(text, [one]);
    expect(with1.startsWith(`${text}\n\n## collect`)).toBe(true);
    expect(withHandoffs(with1, [one])).toBe(with1);
    // The same said twice is twice there.
    expect(readHandoffs(withHandoffs(with1, [one, one]))).toHaveLength(3);
  });
});
