/**
 * Owns the summary by a model: the instruction, and how its answer is parsed. A model's answer is a suggestion: ids and times are never
 * taken from it, and the rule-based summary replaces what can't be parsed.
 */

import { ANSWER_BOUNDS, parseJson } from '@tidemark/core';
import { short } from './rule-summary.ts';
import { type SessionSummary, SUMMARY_LISTS, type SummaryList, sessionSummarySchema } from './session-summary.ts';

/** Entries of one list that are accepted from a model's summary. */
const MODEL_ITEMS_MAX = 40;
/** Objects in an answer that are tried as a summary, each read to its end. */
const MODEL_OBJECTS_TRIED_MAX = 32;
/** Characters of a model's answer that are parsed as a summary. */
const MODEL_SUMMARY_MAX_CHARS = 200_000;

/** The instruction that precedes the session's messages and trace. */
export function summaryInstruction(goal: string): string {
  return `Summarise the session for somebody who continues it later and knows nothing of it. Its task: ${short(goal)}

Answer with one JSON object and nothing else:
{
  "task_description": "what was to be done, in one sentence",
  "decisions_made": ["each decision with its reason"],
  "work_completed": ["each thing that is done, with names of files, records and people"],
  "open_questions": ["each question without an answer, and who could answer it"],
  "next_recommended_steps": ["each next step, the first one first"]
}
Keep exact names, numbers and identifiers. A part without content is an empty list. Say nothing that the session doesn't show. No passwords, keys or tokens.`;
}

export interface ParsedSummary {
  readonly summary: SessionSummary;
  readonly by: 'model' | 'rule';
  /** Why the model's answer was rejected. */
  readonly problem?: string;
}

/**
 * The model's summary, or `byRule` when its answer can't be parsed as one. Accepts text around the object, code fences, trailing commas,
 * names in camel case, headings with bullets instead of JSON, and a text in place of a list.
 */
export function parseSummary(modelText: string, byRule: SessionSummary): ParsedSummary {
  const text = modelText.slice(0, MODEL_SUMMARY_MAX_CHARS);
  const parts = partsOfJson(text) ?? partsOfHeadings(text);
  if (parts === undefined) return { summary: byRule, by: 'rule', problem: 'the answer holds no summary' };
  const lists = Object.fromEntries(SUMMARY_LISTS.map((list) => [list, itemsOf(parts.get(plain(list)))]));
  if (SUMMARY_LISTS.every((list) => lists[list]?.length === 0)) {
    return { summary: byRule, by: 'rule', problem: 'the answer has none of the four lists' };
  }
  const task = parts.get('taskdescription');
  const parsed = sessionSummarySchema.safeParse({
    ...lists,
    session_id: byRule.session_id,
    task_description: typeof task === 'string' && task.trim() !== '' ? short(task) : byRule.task_description,
    created_at: byRule.created_at,
  });
  if (!parsed.success) return { summary: byRule, by: 'rule', problem: parsed.error.issues[0]?.message ?? 'invalid' };
  return { summary: parsed.data, by: 'model' };
}

/** `decisions_made`, `decisionsMade` and `Decisions made` are one name. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '');

function partsOfJson(text: string): Map<string, unknown> | undefined {
  let start = text.indexOf('{');
  for (let tried = 0; start !== -1 && tried < MODEL_OBJECTS_TRIED_MAX; start = text.indexOf('{', start + 1)) {
    tried++;
    const object = parsedAt(text, start);
    if (object === undefined) continue;
    const parts = new Map(Object.entries(object).map(([name, value]) => [plain(name), value]));
    if (SUMMARY_LISTS.some((list) => parts.has(plain(list)))) return parts;
  }
  return undefined;
}

/** The object that begins at `start`, up to the brace that closes it. */
function parsedAt(text: string, start: number): object | undefined {
  const end = endOfObject(text, start);
  if (end === undefined) return undefined;
  const source = text.slice(start, end);
  for (const candidate of [source, source.replaceAll(/,(\s*[\]}])/g, '$1')]) {
    try {
      return parseJson(candidate, 'The summary', ANSWER_BOUNDS) as object;
    } catch {
      // Try the next form.
    }
  }
  return undefined;
}

function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth += 1;
    else if (char === '}') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

/** `## Decisions made` or `Decisions made:`, then its lines. */
function partsOfHeadings(text: string): Map<string, unknown> | undefined {
  const names = new Set<string>(['taskdescription', ...SUMMARY_LISTS.map(plain)]);
  const parts = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of text.split('\n')) {
    const [heading, rest] = headingOf(line);
    if (names.has(plain(heading))) {
      current = rest.trim() === '' ? [] : [rest.replace(/^\**/, '')];
      parts.set(plain(heading), current);
    } else current?.push(line);
  }
  if (![...SUMMARY_LISTS].some((list: SummaryList) => parts.has(plain(list)))) return undefined;
  return new Map([...parts].map(([name, found]) => [name, found.join('\n').trim()]));
}

/** `## Decisions made: none` as its heading and the rest; the heading is empty when the line is none. */
function headingOf(line: string): readonly [heading: string, rest: string] {
  const colon = line.indexOf(':');
  const text = colon < 0 ? line : line.slice(0, colon);
  const heading = text.replace(/^[\s#*\d.]+/, '').replace(/(?<![\s*])[\s*]+$/, '');
  return /^[A-Za-z_ ]+$/.test(heading) ? [heading, colon < 0 ? '' : line.slice(colon + 1)] : ['', ''];
}

/** Accepts a list, a text of lines, or nothing. */
function itemsOf(value: unknown): string[] {
  const items = Array.isArray(value) ? value : typeof value === 'string' ? value.split('\n') : [];
  const texts = items.map((item: unknown) => (typeof item === 'string' ? item : (JSON.stringify(item) ?? '')));
  const bare = texts.map((text) => short(text.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '')));
  return bare.filter((text) => text !== '' && !/^\(?none\)?\.?$/i.test(text)).slice(0, MODEL_ITEMS_MAX);
}
