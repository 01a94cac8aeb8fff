/**
 * Owns the lanes of a bundle other than the conversation: trace, working memory, continuation and user context. It writes them, and orders
 * their pieces for output and for trimming. Must not count tokens.
 */

import type { Json } from '../belief.ts';
import { canonicalJson } from '../canonical.ts';
import { closing, contained, opening, type Tag } from './message.ts';
import type { Lane } from './policy.ts';

/** Characters of one action in the trace. */
const TRACE_ACTION_MAX_CHARS = 300;

/** The newest actions, and counts of the older ones. */
export interface TraceInput {
  readonly recent: readonly { readonly sequence: number; readonly step: string; readonly action: string }[];
  /** Counts, by step, of entries older than those of `recent`. */
  readonly earlier: Readonly<Record<string, number>>;
}

/** The working memory of the current phase. */
export interface WorkingMemoryInput {
  readonly phase: string;
  readonly entries: { readonly [key: string]: Json };
}

export interface Piece {
  /** The name in manifests: `trace/12.0`, `working_memory/customer`. */
  readonly name: string;
  /** The escaped text. */
  readonly text: string;
}

/** A section of the system message whose pieces may be trimmed one by one. */
export interface TrimmableSection {
  readonly lane: Lane;
  readonly open: string;
  readonly close: string;
  /** In the order in which they are written. */
  readonly pieces: readonly Piece[];
  /** Indices of the pieces; the first is kept longest. */
  readonly keepOrder: readonly number[];
}

/** The section with the pieces at these indices; undefined when there are none. */
export function sectionText({ open, close, pieces }: TrimmableSection, kept: readonly number[]): string | undefined {
  if (kept.length === 0) return undefined;
  const lines = [...kept].sort((a, b) => a - b).map((index) => pieces[index]!.text);
  return [open, ...lines, close].join('\n');
}

function trimmableSection(
  lane: Lane,
  tag: Tag,
  pieces: readonly Piece[],
  keepOrder: readonly number[],
  attribute?: readonly [string, string],
): TrimmableSection {
  return { lane, open: opening(tag, attribute), close: closing(tag), pieces, keepOrder };
}

const oneLine = (value: string): string => value.replace(/\s+/gu, ' ').trim();
/** Cuts by code points, so that no surrogate pair is split. */
const shortened = (value: string): string =>
  value.length <= TRACE_ACTION_MAX_CHARS ? value : `${[...value].slice(0, TRACE_ACTION_MAX_CHARS).join('')}…`;

/**
 * Shows the newest `entries` singly, and the older ones in one line with a count by step. The oldest entry is trimmed first. The counted
 * line is trimmed last: it says the most for its size.
 */
export function traceSection({ recent, earlier }: TraceInput, entries: number): TrimmableSection {
  const sorted = [...recent].sort((a, b) => a.sequence - b.sequence);
  const shownFrom = Math.max(0, sorted.length - entries);
  const counts = new Map(Object.entries(earlier));
  for (const { step } of sorted.slice(0, shownFrom)) counts.set(step, (counts.get(step) ?? 0) + 1);
  const counted = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));
  const pieces: Piece[] = [];
  if (counted.length > 0) {
    const words = counted.map(([step, count]) => `${oneLine(step)} ${count}`).join(', ');
    pieces.push({ name: 'trace/earlier', text: contained(`earlier: ${words}`) });
  }
  const seen = new Map<number, number>();
  for (const { sequence, step, action } of sorted.slice(shownFrom)) {
    const index = seen.get(sequence) ?? 0;
    seen.set(sequence, index + 1);
    const text = contained(`${sequence} ${oneLine(step)}: ${shortened(oneLine(action))}`);
    pieces.push({ name: `trace/${sequence}.${index}`, text });
  }
  const indices = pieces.map((_, index) => index);
  const keepOrder = counted.length > 0 ? [0, ...indices.slice(1).reverse()] : indices.reverse();
  return trimmableSection('trace', 'recent_trace', pieces, keepOrder);
}

/**
 * One line for each key, sorted. The largest value is trimmed first: that costs the fewest keys, and a step can still read it from working
 * memory by its key.
 */
export function memorySection({ phase, entries }: WorkingMemoryInput): TrimmableSection {
  const pieces = Object.keys(entries)
    .sort()
    .map((key) => ({
      name: `working_memory/${key}`,
      text: contained(`${JSON.stringify(key)}: ${canonicalJson(entries[key]!)}`),
    }));
  const keepOrder = pieces
    .map((_, index) => index)
    .sort((a, b) => pieces[a]!.text.length - pieces[b]!.text.length || a - b);
  return trimmableSection('working_memory', 'working_memory', pieces, keepOrder, ['phase', phase]);
}

/** Sections that the caller wrote, the most useful first. The last one is trimmed first. */
export function givenSections(lane: 'continuation' | 'user_context', sections: readonly string[]): TrimmableSection {
  const tag = lane === 'continuation' ? 'continuation_context' : 'user_context';
  const pieces = sections.map((text, index) => ({ name: `${lane}/${index}`, text: contained(text) }));
  return trimmableSection(
    lane,
    tag,
    pieces,
    pieces.map((_, index) => index),
  );
}
