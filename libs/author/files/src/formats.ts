/**
 * Owns the formats of the five files, as schemas. Written files have exactly the members of the types; read files may have more, since
 * scripts add their own, and may lack those that don't identify the run and step. Must not touch files.
 */

import { InvalidError, isoTime, messageOf, parseJson, parseLenient, parseTime } from '@tidemark/core';
import { z } from 'zod';

/** Faults of one file that are named, and characters of the place of each; further ones are counted. */
const ISSUES_REPORTED_MAX_COUNT = 20;
const ISSUE_PLACE_MAX_CHARS = 200;

export const RUN_STATE = 'run_state.json';
export const DEDUPE_INDEX = 'dedupe_index.json';
export const HANDOFF = 'handoff.md';
export const EXECUTION_LOG = 'execution_log.jsonl';
export const LAST_SUCCESS = 'last_success.json';

/** With an offset, `Z` or no zone, which is the writer's local time; with or without fractions. */
const time = z
  .string()
  .refine((text) => !Number.isNaN(parseTime(text)), { error: 'must be a time such as 2026-03-01T14:03:11' });
const count = z.number().int().nonnegative();
/** Of a record, in UTC; nothing where the file doesn't say when. */
export const saidAt = (said: string | null | undefined): { readonly at?: string } =>
  said == null ? {} : { at: isoTime(parseTime(said)) };

export const stepStateSchema = z.looseObject({
  status: z.enum(['pending', 'running', 'completed', 'failed']),
  output_file: z.string().nullish(),
  started_at: time.nullish(),
  finished_at: time.nullish(),
});
export type StepState = z.infer<typeof stepStateSchema>;

export const runStateSchema = z.looseObject({
  pipeline_id: z.string().min(1),
  status: z.enum(['new', 'running', 'completed', 'failed']),
  /** Number of the step to do, from 1; 0 before the first. Some write its name. */
  current_step: z.union([count, z.string()]).nullish(),
  steps: z.record(z.string(), stepStateSchema),
  total_tokens_used: count.default(0),
  /** What of it Tidemark has counted: the rest is of others. */
  tidemark_tokens_used: count.optional(),
});
export type RunState = z.infer<typeof runStateSchema>;

/** `output`: a path, or the output itself. */
export const dedupeEntrySchema = z.looseObject({
  executed_at: time.nullish(),
  output: z.json().optional(),
  checksum: z.string().nullish(),
  /** Digest of the input of the run; absent where its writer doesn't have it. */
  input: z.string().nullish(),
});
export const dedupeIndexSchema = z.record(z.string().min(1), dedupeEntrySchema);
export type DedupeEntry = z.infer<typeof dedupeEntrySchema>;
export type DedupeIndex = z.infer<typeof dedupeIndexSchema>;

export const logLineSchema = z.looseObject({
  ts: time,
  step: z.string().nullish(),
  action: z.string(),
  /** Null: of an action that takes none. */
  tokens: count.nullable().default(0),
  result: z.json().default(null),
});
export type LogLine = z.infer<typeof logLineSchema>;

export const lastSuccessFileSchema = z.looseObject({
  pipeline_id: z.string().min(1),
  completed_at: time.nullish(),
  total_tokens: count.default(0),
  outputs: z.record(z.string(), z.string()),
});
export type LastSuccessFile = z.infer<typeof lastSuccessFileSchema>;

/**
 * A parsed text: its value and the tolerated slips in it (a trailing comma, comments), or all reasons why it has none. `found`: what is
 * there instead, where it is JSON of another form.
 */
export type Read<T> =
  | { readonly ok: true; readonly value: T; readonly overlooked: readonly string[] }
  | { readonly ok: false; readonly problem: string; readonly found?: unknown };

/** Tolerates harmless slips: agents write these files too. */
export function readJson<T>(text: string, schema: z.ZodType<T>): Read<T> {
  let value: unknown;
  let overlooked: readonly string[] = [];
  try {
    value = parseJson(text, 'it');
  } catch (error) {
    // Too large a text, or a number that would be rounded, is no slip.
    const isSlip = error instanceof InvalidError && error.code === 'json-invalid';
    const lenient = isSlip ? parseLenient(text) : undefined;
    if (lenient?.isWhole !== true) return { ok: false, problem: messageOf(error).replace(/\.$/, '') };
    ({ value, problems: overlooked } = lenient);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data, overlooked };
  // Never quotes a value: it may be secret.
  const { issues } = parsed.error;
  const said = issues.slice(0, ISSUES_REPORTED_MAX_COUNT).map((issue) => {
    const place = issue.path.join('.').slice(0, ISSUE_PLACE_MAX_CHARS);
    return `${place === '' ? 'the whole' : place}: ${wrongIn(issue)}`;
  });
  if (said.length < issues.length) said.push(`and ${issues.length - said.length} more`);
  return { ok: false, problem: said.join('; '), found: value };
}

function wrongIn(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(', ')}`;
  return issue.code === 'custom' ? issue.message : issue.code.replaceAll('_', ' ');
}

/** A log's lines that aren't of the run as Tidemark wrote them: as they stand, with their times. */
export interface OthersLines {
  readonly lines: readonly { readonly text: string; readonly atMs: number }[];
  /** Numbers of lines that are cut, or no JSON. */
  readonly broken: readonly number[];
  /** Whether a line has the form of a log's. */
  readonly hasLine: boolean;
}

export function othersLines(log: string, run: string): OthersLines {
  const lines: { readonly text: string; readonly atMs: number }[] = [];
  const broken: number[] = [];
  const own = ownEnding(run);
  let hasLine = false;
  for (const [index, line] of log.replaceAll('\0', '').split('\n').entries()) {
    const text = line.trimEnd();
    hasLine ||= text.endsWith(own);
    if (text === '' || text.endsWith(own)) continue;
    const parsed = plainLine(text);
    if (parsed === undefined) broken.push(index + 1);
    // What a writer that was killed has left is in front of a later line.
    const whole = parsed === undefined ? text.slice(text.lastIndexOf('{"ts"')) : text;
    const found = parsed ?? plainLine(whole);
    if (found === undefined) continue;
    hasLine ||= logLineSchema.safeParse(found).success;
    lines.push({ text: whole, atMs: parseTime(String(found.ts)) });
  }
  return { lines, broken, hasLine };
}

function plainLine(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as never) : undefined;
  } catch {
    return undefined;
  }
}

/** By which the lines that Tidemark wrote are known. */
const ownEnding = (run: string): string => `"workflow":${JSON.stringify(run)}}`;

/** Each in its order, merged by their times; a line of others without a time stays behind the one before it. */
export function mergedLog(others: OthersLines['lines'], own: readonly LogLine[], run: string): string {
  const lines: string[] = [];
  let at = 0;
  const untilMs = (atMs: number): void => {
    for (; at < own.length && parseTime(own[at]!.ts) < atMs; at++) lines.push(logLineText(own[at]!, run));
  };
  for (const { text, atMs } of others) {
    untilMs(atMs);
    lines.push(text);
  }
  untilMs(Infinity);
  return lines.map((line) => `${line}\n`).join('');
}

const logLineText = ({ workflow: _, ...line }: LogLine, run: string): string =>
  JSON.stringify({ ...line, workflow: run });

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
