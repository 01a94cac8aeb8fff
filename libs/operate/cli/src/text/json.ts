/** Owns JSON as text for people: indented, and without a character that could steer a terminal. Pure. */

import type { Json } from '@tidemark/core';
import { counted } from './units.ts';
import { cut } from './width.ts';

/** Characters that JSON does not escape: DEL, the C1 controls, and marks that turn the reading direction. */
const STEERING = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A list or an object within another, without any further one in it, that fits in a line. */
const SMALL = /^( .*[[{])\n +([^[\]{}]{1,60}?)\n +([\]}])/gm;

/** Still the same JSON. */
export const jsonText = (value: Json): string =>
  JSON.stringify(value, undefined, 2)
    .replace(SMALL, (_, open: string, members: string, close: string) => {
      const pad = open.endsWith('[') ? '' : ' ';
      return `${open}${pad}${members.replaceAll(/\n +/g, ' ')}${pad}${close}`;
    })
    .replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

export interface JsonLinesOptions {
  readonly indent: string;
  readonly linesMax: number;
  readonly columns: number | undefined;
}

/** At most this many lines, cut to the terminal's width; says how many are left out. */
export function jsonLines(value: Json, { indent, linesMax, columns }: JsonLinesOptions): readonly string[] {
  const lines = jsonText(value).split('\n');
  const shown = lines.slice(0, linesMax).map((line) => fit(`${indent}${line}`, columns));
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `${indent}… ${counted(left, 'more line')} (all of it with --json)`];
}

const fit = (line: string, columns: number | undefined): string => (columns === undefined ? line : cut(line, columns));
