/**
 * Owns tables: columns aligned by what shows on a terminal, two spaces between them. Where the terminal is too narrow, columns that may
 * shrink do; then the last quantities are left out, which would say something else if they were cut, then the last columns of any kind,
 * and a line below says how many. The first column, which people copy, stays. Pure.
 */

import { counted } from './units.ts';
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
  const sized = columns.map((column, at): Sized => {
    const width = Math.max(widthOf(column.title), ...cells.map((row) => widthOf(row[at]?.text ?? '')));
    return { ...column, at, width };
  });
  const shown = options.width === undefined ? sized : fitting(sized, options.width);
  const line = (row: readonly Cell[]): string =>
    shown
      .map(({ align, at, width }, place) => {
        const { text, paint } = row[at] ?? { text: '' };
        const said = cut(text, width);
        // Padding stays unpainted, and the last column needs none.
        const filling = width - widthOf(said);
        const painted = paint === undefined ? said : paint(said);
        if (align === 'right') return padStart('', filling) + painted;
        return place === shown.length - 1 ? painted : painted + padEnd('', filling);
      })
      .join(GAP)
      .trimEnd();
  const { title } = options;
  const titles = columns.map((column): Cell => ({ text: column.title, paint: title }));
  const missing = columns.length - shown.length;
  const said = missing === 0 ? [] : [`${counted(missing, 'column')} left out; --json has all`];
  return [line(titles), ...cells.map(line), ...said];
}

interface Sized extends Column {
  /** Its place among all columns, and its width. */
  readonly at: number;
  width: number;
}

const leastOf = ({ shrinksTo = Number.POSITIVE_INFINITY, width }: Sized): number => Math.min(shrinksTo, width);

/** The columns that fit; what is too much is taken from those that may shrink, always from the widest. */
function fitting(all: readonly Sized[], width: number): readonly Sized[] {
  const columns = [...all];
  const excess = (of: (column: Sized) => number): number =>
    columns.reduce((sum, column) => sum + of(column), 0) + GAP.length * (columns.length - 1) - width;
  while (columns.length > 1 && excess(leastOf) > 0) {
    const quantity = columns.findLastIndex(({ align }, place) => place > 0 && align === 'right');
    columns.splice(quantity === -1 ? columns.length - 1 : quantity, 1);
  }
  for (let left = excess((column) => column.width); left > 0; left--) {
    const shrinking = columns.filter((column) => column.width > leastOf(column));
    if (shrinking.length === 0) break;
    shrinking.reduce((widest, column) => (column.width > widest.width ? column : widest)).width--;
  }
  return columns;
}
