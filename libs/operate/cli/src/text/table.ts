/**
 * Owns tables: columns aligned by what shows on a terminal, two spaces between them, cut to the terminal's width where it
 * has one. Pure.
 */

import { cut, padEnd, padStart, printable, widthOf } from './width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Gives way when the table is too wide, but not below this many columns. */
  readonly shrinksTo?: number;
}

/** A cell's text, and how it is painted once it is cut and padded. */
export interface Cell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

/** A column of a list: its title, an item's text, the columns that are left when it gives way or where it aligns, and how it is painted. */
export type Columns<T> = readonly (readonly [
  title: string,
  text: (item: T) => string,
  how?: number | 'right' | undefined,
  paint?: (item: T, text: string) => string,
])[];

/** The table of a list. `title`: how titles are painted. */
export const tableOf = <T>(
  columns: Columns<T>,
  items: readonly T[],
  width: number | undefined,
  title?: (text: string) => string,
): readonly string[] =>
  table(
    columns.map(([name, , how]) => ({
      title: name,
      ...(how === 'right' && { align: how }),
      ...(typeof how === 'number' && { shrinksTo: how }),
    })),
    items.map((item) =>
      columns.map(([, text, , paint]) => ({
        text: printable(text(item)),
        paint: paint && ((shown) => paint(item, shown)),
      })),
    ),
    { width, ...(title && { title }) },
  );

/** The same, or what is said where there is nothing in it. */
export const tableOr = <T>(
  none: string,
  columns: Columns<T>,
  items: readonly T[],
  width: number | undefined,
): readonly string[] => (items.length === 0 ? [none] : tableOf(columns, items, width));

const GAP = '  ';

const cellOf = (cell: string | Cell): Cell => (typeof cell === 'string' ? { text: cell } : cell);

/** The table's lines. `width`: columns of the terminal; without one nothing is cut. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | Cell)[])[],
  options: { readonly width?: number | undefined; readonly title?: (text: string) => string } = {},
): readonly string[] {
  const cells = rows.map((row) => row.map(cellOf));
  const widths = columns.map((column, at) =>
    Math.max(widthOf(column.title), ...cells.map((row) => widthOf(row[at]?.text ?? ''))),
  );
  if (options.width !== undefined) shrink(widths, columns, options.width);
  const line = (row: readonly Cell[]): string =>
    columns
      .map((column, at) => {
        const { text, paint } = row[at] ?? { text: '' };
        const shown = cut(text, widths[at]!);
        // Padding stays unpainted, and the last column needs none.
        const filling = widths[at]! - widthOf(shown);
        const painted = paint === undefined ? shown : paint(shown);
        if (column.align === 'right') return padStart('', filling) + painted;
        return at === columns.length - 1 ? painted : painted + padEnd('', filling);
      })
      .join(GAP)
      .trimEnd();
  const { title } = options;
  const titles = columns.map((column): Cell => ({ text: column.title, paint: title }));
  return [line(titles), ...cells.map(line)];
}

/** Takes what is too much from the columns that may shrink, always from the widest. */
function shrink(widths: number[], columns: readonly Column[], width: number): void {
  let excess = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (columns.length - 1) - width;
  while (excess > 0) {
    let widest = -1;
    for (const [at, column] of columns.entries()) {
      const least = column.shrinksTo;
      if (least === undefined || widths[at]! <= least) continue;
      if (widest === -1 || widths[at]! > widths[widest]!) widest = at;
    }
    if (widest === -1) return;
    widths[widest]!--;
    excess--;
  }
}
