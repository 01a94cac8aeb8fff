/**
 * Owns the summary that needs no model: which range it covers, how many messages and calls were in it, and the sentences that record
 * decisions and questions. It recognises cues of English only; in other languages it keeps questions and the last words of users. Must not
 * call a model.
 *
 * Invariants: the first line names the whole range and is always there; the text never exceeds `maxTokens`; the lines of a summary are
 * carried into the next one, the newest first where there isn't room for all.
 */

import { InvalidError } from '../errors.ts';
import { sortFragments } from './conversation.ts';
import { type CoveredRange, type Fragment, placeName } from './fragment.ts';
import { JOIN_OVERHEAD_TOKENS } from './limits.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Characters of one decision or question in a rule-based summary. */
const SUMMARY_LINE_MAX_CHARS = 240;
/** Tools that a rule-based summary names, the most used first. */
const SUMMARY_TOOLS_MAX_COUNT = 8;
/** The least room for a rule-based summary. Its first line, which says what it covers, must fit. */
export const SUMMARY_MIN_TOKENS = 128;

const KINDS = ['Decided', 'Open', 'User', 'Before'] as const;
type Kind = (typeof KINDS)[number];

interface Line {
  readonly kind: Kind;
  readonly text: string;
}

interface Counts {
  readonly user: number;
  readonly agent: number;
  readonly tools: ReadonlyMap<string, number>;
}

const DECISION =
  /\b(decided|decision|agreed|chose|chosen|approved|rejected|confirmed|concluded|instead of|going with|go with|let's|(?:we|i)(?:'ll| will| won't| must)|must|never|always|promised?|deadline)\b/iu;

/**
 * Summarises `fragments`. `previous` is the text of the summary before it, by rule or by model, or null; the result carries its lines on.
 * `covers` is the range that the new summary covers. Throws `InvalidError` (`summary-too-small`) when `maxTokens` is too small for the
 * first line.
 */
export function summariseByRule(
  previous: string | null,
  fragments: readonly Fragment[],
  covers: CoveredRange,
  maxTokens: number,
  tokenizer: Tokenizer,
): string {
  if (!(maxTokens >= SUMMARY_MIN_TOKENS))
    throw new InvalidError(
      'summary-too-small',
      `A summary by rule needs room for ${SUMMARY_MIN_TOKENS} tokens, but maxTokens is ${maxTokens}: give more.`,
      { maxTokens },
    );
  const before = readSummary(previous);
  const sorted = sortFragments(fragments);
  const first = firstLine(covers, added(before.counts, countsOf(sorted)), maxTokens, tokenizer);
  const lines = distinct([...before.lines, ...sorted.flatMap(linesOf)]);
  return [first, ...withinRoom(lines, maxTokens - tokenizer.count(first), tokenizer).map(lineText)].join('\n');
}

const lineText = ({ kind, text }: Line): string => `- ${kind}: ${text}`;

const rangeWords = ({ from, to }: CoveredRange): string => `Covers ${placeName(from)} to ${placeName(to)}`;

/** The line that `readSummary` parses. Names of tools that don't fit are omitted. */
function firstLine(
  covers: CoveredRange,
  { user, agent, tools }: Counts,
  maxTokens: number,
  tokenizer: Tokenizer,
): string {
  const ordered = [...tools].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const calls = ordered.reduce((sum, [, count]) => sum + count, 0);
  const head = `${rangeWords(covers)}: ${user} user messages, ${agent} agent messages, ${calls} tool results`;
  const named = ordered.slice(0, SUMMARY_TOOLS_MAX_COUNT).map(([tool, count]) => `${tool} ${count}`);
  const full = named.length === 0 ? `${head}.` : `${head} (${named.join(', ')}).`;
  return tokenizer.count(full) <= maxTokens / 2 ? full : `${head}.`;
}

const FIRST_LINE = /^Covers \S+ to \S+: (\d+) user messages, (\d+) agent messages, (\d+) tool results(?: \((.*)\))?\.$/;
const NO_COUNTS: Counts = { user: 0, agent: 0, tools: new Map() };

/** The counts and lines of a rule-based summary; the sentences of any other. */
function readSummary(text: string | null): { readonly counts: Counts; readonly lines: readonly Line[] } {
  if (text === null) return { counts: NO_COUNTS, lines: [] };
  const [head = '', ...rest] = text.split('\n');
  const match = FIRST_LINE.exec(head);
  if (match === null)
    return { counts: NO_COUNTS, lines: sentencesOf(text).map((line) => ({ kind: 'Before', text: line })) };
  const tools = new Map<string, number>();
  for (const item of match[4]?.split(', ') ?? []) {
    const at = item.lastIndexOf(' ');
    tools.set(item.slice(0, at), Number(item.slice(at + 1)) || 0);
  }
  const named = [...tools.values()].reduce((sum, count) => sum + count, 0);
  const others = Number(match[3]) - named;
  if (others > 0) tools.set('others', others);
  const lines = rest.flatMap((line): Line[] => {
    const kind = KINDS.find((name) => line.startsWith(`- ${name}: `));
    return kind === undefined ? [] : [{ kind, text: line.slice(kind.length + 4) }];
  });
  return { counts: { user: Number(match[1]), agent: Number(match[2]), tools }, lines };
}

function countsOf(fragments: readonly Fragment[]): Counts {
  const tools = new Map<string, number>();
  for (const { type, tool } of fragments) {
    if (type !== 'tool_result') continue;
    const name = (tool ?? 'tool').replace(/[\s,()]+/gu, '_').slice(0, SUMMARY_LINE_MAX_CHARS);
    tools.set(name, (tools.get(name) ?? 0) + 1);
  }
  const of = (type: Fragment['type']): number => fragments.filter((fragment) => fragment.type === type).length;
  return { user: of('user_message'), agent: of('agent_message'), tools };
}

function added(a: Counts, b: Counts): Counts {
  const tools = new Map(a.tools);
  for (const [tool, count] of b.tools) tools.set(tool, (tools.get(tool) ?? 0) + count);
  return { user: a.user + b.user, agent: a.agent + b.agent, tools };
}

/** The decisions and questions in a message. A user's message without any gives its beginning. */
function linesOf({ type, text }: Fragment): readonly Line[] {
  if (type !== 'user_message' && type !== 'agent_message') return [];
  const sentences = sentencesOf(text);
  const found = sentences.flatMap((sentence): Line[] => {
    if (/[?？؟]$/u.test(sentence)) return [{ kind: 'Open', text: sentence }];
    return DECISION.test(sentence) ? [{ kind: 'Decided', text: sentence }] : [];
  });
  if (found.length > 0 || type === 'agent_message' || sentences.length === 0) return found;
  return [{ kind: 'User', text: sentences[0]! }];
}

/** The sentences, each on one line, shortened by code points. */
function sentencesOf(text: string): readonly string[] {
  return text
    .split(/(?<=[.!?？؟。])\s+|[\r\n]+/u)
    .map((sentence) => sentence.replace(/\s+/gu, ' ').trim())
    .filter((sentence) => sentence !== '')
    .map((sentence) =>
      sentence.length <= SUMMARY_LINE_MAX_CHARS
        ? sentence
        : `${[...sentence].slice(0, SUMMARY_LINE_MAX_CHARS).join('')}…`,
    );
}

/** Each text once, at its last place. */
function distinct(lines: readonly Line[]): readonly Line[] {
  const seen = new Set<string>();
  return lines
    .toReversed()
    .filter((line) => {
      const key = lineText(line);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    })
    .reverse();
}

/**
 * The lines that fit, in their old order. Decisions are kept before open questions, those before the rest, and the newest of each first.
 */
function withinRoom(lines: readonly Line[], room: number, tokenizer: Tokenizer): readonly Line[] {
  const chosen = new Set<Line>();
  let left = room;
  for (const kind of KINDS) {
    for (const line of lines.filter((candidate) => candidate.kind === kind).reverse()) {
      const tokens = tokenizer.count(lineText(line)) + JOIN_OVERHEAD_TOKENS;
      if (tokens > left) break;
      chosen.add(line);
      left -= tokens;
    }
  }
  return lines.filter((line) => chosen.has(line));
}
