import { describe, expect, it } from 'vitest';
import { jsonLines, jsonText } from './json.ts';

describe('JSON for people', () => {
  it('is the same JSON without anything that steers a terminal', () => {
    const value = { a: '\u001b[31m\u009b\u202e', 日: [1, null] };
    for (const steering of ['\u001b', '\u009b', '\u202e']) expect(jsonText(value)).not.toContain(steering);
    expect(JSON.parse(jsonText(value))).toEqual(value);
  });

  it('has small lists and objects within others in a line', () => {
    const value = {
      calls: [
        { a: 'x', b: 1 },
        { a: '[', b: 2 },
      ],
      long: ['y'.repeat(70)],
      none: [],
      n: { m: [1, 2] },
    };
    expect(JSON.parse(jsonText(value))).toEqual(value);
    expect(jsonText(value)).toContain('\n    { "a": "x", "b": 1 },\n');
    expect(jsonText(value)).toContain('"m": [1, 2]');
    expect(jsonText(value)).toContain('"long": [\n');
    expect(jsonText({ a: 1 })).toBe('{\n  "a": 1\n}');
  });

  it('says how much it leaves out', () => {
    const lines = jsonLines([1, 2, 3, 4], { indent: '  ', linesMax: 3, columns: undefined });
    expect(lines).toEqual(['  [', '    1,', '    2,', '  … 3 more lines (all of it with --json)']);
  });

  it('fits the terminal', () => {
    expect(jsonLines('a long text', { indent: '', linesMax: 3, columns: 8 })).toEqual(['"a long…']);
  });
});
