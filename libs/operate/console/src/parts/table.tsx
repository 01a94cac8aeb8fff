/** Owns tables: the same head, rows and narrow layout for every list, and the button that loads more. */

import type { ReactNode } from 'react';
import { useShortcuts } from '../shell/shortcuts.ts';

export interface Column<T> {
  readonly name: string;
  readonly of: (row: T) => ReactNode;
  readonly isNumber?: boolean;
  /** Left out where there is little room. */
  readonly isMinor?: boolean;
  readonly className?: string;
}

export function DataTable<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly isSelected?: ((row: T) => boolean) | undefined;
  readonly onPick?: ((row: T) => void) | undefined;
}) {
  const { label, columns, rows, keyOf, isSelected, onPick } = props;
  const classOf = ({ isNumber, isMinor }: Column<T>, more = ''): string | undefined =>
    [isNumber && 'num', isMinor && 'minor', more].filter(Boolean).join(' ') || undefined;
  return (
    <div className="table-box">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} aria-selected={isSelected?.(row)} onClick={onPick && (() => onPick(row))}>
              {columns.map((column) => (
                <td key={column.name} className={classOf(column, column.className)}>
                  {column.of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Pages {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  fetchNextPage(): unknown;
}

export function More({ of, what }: { readonly of: Pages; readonly what: string }) {
  if (!of.hasNextPage) return null;
  return (
    <p>
      <button type="button" disabled={of.isFetchingNextPage} onClick={() => void of.fetchNextPage()}>
        {of.isFetchingNextPage ? 'Loading…' : `More ${what}`}
      </button>
    </p>
  );
}

/** `j` and `k` move through the list. */
export function useWalk(name: string, count: number, at: number, pick: (index: number) => void): void {
  const move = (by: number): void => {
    const next = at === -1 ? (by > 0 ? 0 : count - 1) : at + by;
    if (next >= 0 && next < count) pick(next);
  };
  useShortcuts(name, [
    { keys: 'j', what: 'Next', run: () => move(1) },
    { keys: 'k', what: 'Before', run: () => move(-1) },
  ]);
}
