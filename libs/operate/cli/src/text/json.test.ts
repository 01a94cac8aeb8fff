import { describe, expect, it } from 'vitest';
import { jsonLines, jsonText } from './json.ts';

describe('JSON for people', () => {
  it('is the same JSON without anything that steers a terminal', () => {
    const value = { a: '\u001b[31m\u009b\u202e', 日: [1, null] };
    for (const steering of ['\u001b', '\u009b', '\u202e']) expect(jsonText(value)).not.toContain(steering);
    expect(JSON.parse(jsonText(value))).toEqual(value);
  });

  it('says how much it leaves out', () => {
    const lines = jsonLines([1, 2, 3, 4], { indent: '  ', linesMax: 3, columns: undefined });
    expect(lines).toEqual(['  [', '    1,', '    2,', '  … 3 more lines (all of it with --json)']);
  });

  it('fits the terminal', () => {
    expect(jsonLines('a long text', { indent: '', linesMax: 3, columns: 8 })).toEqual(['"a long…']);
  });
});
