import { describe, expect, it } from 'vitest';
import { table } from './table.ts';

const COLUMNS = [
  { title: 'ID', shrinksTo: 4 },
  { title: 'COUNT', align: 'right' },
  { title: 'ACTION', shrinksTo: 8 },
] as const;

describe('tables', () => {
  it('aligns by what shows, wide characters included', () => {
    expect(
      table(COLUMNS, [
        ['refund-1', '7', 'credit issued'],
        ['日本', '1,234', 'x'],
      ]),
    ).toEqual(['ID        COUNT  ACTION', 'refund-1      7  credit issued', '日本      1,234  x']);
  });

  it('cuts the widest columns first where the terminal is narrow, and keeps the others whole', () => {
    const lines = table(COLUMNS, [['refund-8821', '1,234', 'a long action that says much']], { width: 30 });
    expect(lines).toEqual(['ID          COUNT  ACTION', 'refund-88…  1,234  a long act…']);
  });

  it('stops shrinking at what stays readable, and leaves out quantities, then other columns, the last ones first', () => {
    const lines = (width: number) => table(COLUMNS, [['refund-8821', '1,234', 'a long action']], { width });
    expect(lines(21)).toEqual(['ID    COUNT  ACTION', 'ref…  1,234  a long …']);
    expect(lines(20)).toEqual(['ID         ACTION', 'refund-8…  a long a…', '1 column left out; --json has all']);
    expect(lines(13)).toEqual(['ID', 'refund-8821', '2 columns left out; --json has all']);
    // What is not to be cut runs over.
    expect(table([{ title: 'ID' }, { title: 'ACTION' }], [['refund-8821', 'x']], { width: 5 })[1]).toBe('refund-8821');
  });

  it('paints what shows and not the padding', () => {
    const red = (text: string): string => `<${text}>`;
    expect(
      table(
        COLUMNS,
        [
          ['a', { text: '1', paint: red }, 'b'],
          ['cccc', '22222', 'd'],
        ],
        { title: red },
      ),
    ).toEqual(['<ID>    <COUNT>  <ACTION>', 'a         <1>  b', 'cccc  22222  d']);
  });

  it('has titles alone where there are no rows', () => {
    expect(table(COLUMNS, [])).toEqual(['ID  COUNT  ACTION']);
  });
});
