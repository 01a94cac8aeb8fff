/** Owns what the sections of a view have alike: a title, and values and tables that are indented below it. Pure. */

import type { Json } from '@tidemark/core';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { type Columns, tableOf } from '../text/table.ts';

export type Style = Pick<Terminal, 'paint' | 'width'>;

export const INDENT = '  ';
/** Most lines of a value that are shown. The JSON has all of it. */
const VALUE_LINES_MAX = 24;

export const section = (title: string, lines: readonly string[], { paint }: Style): readonly string[] => [
  paint('bold', title),
  ...lines,
];

/** Joins the sections, with an empty line between two. Leaves out sections without lines. */
export const sectionsLines = (sections: readonly (readonly string[])[]): readonly string[] =>
  sections.filter((lines) => lines.length > 0).flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));

export const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `${INDENT}${line}`);

export const valueLines = (value: Json | undefined, { width }: Style, linesMax = VALUE_LINES_MAX): readonly string[] =>
  jsonLines(value ?? null, { indent: INDENT, linesMax, columns: width });

export const tableLines = <T>(columns: Columns<T>, items: readonly T[], { width, paint }: Style): readonly string[] => {
  const inner = width === undefined ? undefined : width - INDENT.length;
  return indented(tableOf(columns, items, inner, (text) => paint('dim', text)));
};
