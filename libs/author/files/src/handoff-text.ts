/**
 * Owns `handoff.md`: a heading per hand-over (`## FROM → TO Handoff`), its text, and the list of its artifacts. Reading returns exactly
 * what was written. Text outside such sections is left alone. Pure.
 */

import { createHash } from 'node:crypto';
import type { NamedHandoff } from '@tidemark/sdk';

/** Escapes headings within a text, and those that were escaped before. */
const HEADING_IN_TEXT = /^(\\*)(?=## )/gm;
const ARTIFACTS = /(?:^|\n)Artifacts:\n((?:- .+(?:\n|$))+)\s*$/;

export function handoffText({ from, to, message, artifacts }: NamedHandoff): string {
  const text = message.trim().replace(HEADING_IN_TEXT, '$1\\');
  const list = artifacts.map((artifact) => `- ${oneLine(artifact)}\n`).join('');
  return `## ${oneLine(from)} → ${oneLine(to)} Handoff\n\n${text}\n${list === '' ? '' : `\nArtifacts:\n${list}`}`;
}

export function readHandoffs(text: string): readonly NamedHandoff[] {
  const found: { from: string; to: string; lines: string[] }[] = [];
  for (const line of text.split(/\r?\n/)) {
    const heading = headingOf(line);
    if (heading !== undefined) found.push({ ...heading, lines: [] });
    else found.at(-1)?.lines.push(line);
  }
  return found.map(({ from, to, lines }) => {
    const body = lines.join('\n').trim();
    const list = ARTIFACTS.exec(body);
    const message = (list === null ? body : body.slice(0, list.index)).trim().replace(/^\\(?=\\*## )/gm, '');
    const artifacts = (list?.[1] ?? '').split('\n').flatMap((line) => (line === '' ? [] : [line.slice(2).trim()]));
    return { from, to, message, artifacts };
  });
}

/** `## FROM → TO Handoff`. */
function headingOf(line: string): { readonly from: string; readonly to: string } | undefined {
  if (!line.startsWith('## ')) return undefined;
  const text = line.slice(2).trim();
  const end = /(?<! ) +Handoff$/i.exec(text)?.index;
  const arrow = /→|->/.exec(text.slice(1, end));
  if (end === undefined || arrow === null) return undefined;
  const at = 1 + arrow.index;
  const [from, to] = [text.slice(0, at).trim(), text.slice(at + arrow[0].length, end).trim()];
  return from === '' || to === '' ? undefined : { from, to };
}

/** A digest for each, in order; each of several equal ones has another. */
export function handoffDigests(handoffs: readonly NamedHandoff[]): readonly string[] {
  const counts = new Map<string, number>();
  return handoffs.map((handoff) => {
    // In the form that a reader of the file sees, so that it recognises what was written there.
    const text = handoffText(readHandoffs(handoffText(handoff))[0] ?? handoff);
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
    const nth = (counts.get(digest) ?? 0) + 1;
    counts.set(digest, nth);
    return nth === 1 ? digest : `${digest}-${nth}`;
  });
}

/** Appends the hand-overs that the text lacks: what others wrote there stays. */
export function withHandoffs(text: string, handoffs: readonly NamedHandoff[]): string {
  const there = new Set(handoffDigests(readHandoffs(text)));
  const digests = handoffDigests(handoffs);
  const lacking = handoffs.filter((_, at) => !there.has(digests[at] as string));
  const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
  return lacking.length === 0 ? text : `${text}${gap}${lacking.map(handoffText).join('\n')}`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
