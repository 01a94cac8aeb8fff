/**
 * Owns the formats of the five files, as schemas: what is written has exactly these members; what is read may have more,
 * since scripts add their own. Must not touch files.
 */

import { messageOf, parseJson } from '@tidemark/core';
import { z } from 'zod';

export const RUN_STATE = 'run_state.json';
export const DEDUPE_INDEX = 'dedupe_index.json';
export const HANDOFF = 'handoff.md';
export const EXECUTION_LOG = 'execution_log.jsonl';
export const LAST_SUCCESS = 'last_success.json';

const time = z.iso.datetime({ offset: true });
const count = z.number().int().nonnegative();

export const stepStateSchema = z.looseObject({
  status: z.enum(['pending', 'running', 'completed', 'failed']),
  output_file: z.string().nullable(),
  started_at: time.nullable(),
  finished_at: time.nullable(),
});
export type StepState = z.infer<typeof stepStateSchema>;

export const runStateSchema = z.looseObject({
  pipeline_id: z.string().min(1),
  status: z.enum(['new', 'running', 'completed', 'failed']),
  current_step: z.string().nullable(),
  steps: z.record(z.string(), stepStateSchema),
  total_tokens_used: count,
});
export type RunState = z.infer<typeof runStateSchema>;

/** `output`: a path within the folder, or the output itself. */
export const dedupeEntrySchema = z.looseObject({ executed_at: time, output: z.json(), checksum: z.string() });
export const dedupeIndexSchema = z.record(z.string().min(1), dedupeEntrySchema);
export type DedupeEntry = z.infer<typeof dedupeEntrySchema>;
export type DedupeIndex = z.infer<typeof dedupeIndexSchema>;

export const logLineSchema = z.looseObject({
  ts: time,
  step: z.string().nullable(),
  action: z.string(),
  tokens: count,
  result: z.json(),
});
export type LogLine = z.infer<typeof logLineSchema>;

export const lastSuccessFileSchema = z.looseObject({
  pipeline_id: z.string().min(1),
  completed_at: time,
  total_tokens: count,
  outputs: z.record(z.string(), z.string()),
});
export type LastSuccessFile = z.infer<typeof lastSuccessFileSchema>;

/** What a reader makes of a file's text: its value, or why it has none. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export function readJson<T>(text: string, schema: z.ZodType<T>): Read<T> {
  let json: unknown;
  try {
    json = parseJson(text, 'it');
  } catch (error) {
    return { ok: false, problem: messageOf(error).replace(/\.$/, '') };
  }
  return checked(json, schema);
}

/** Every line must be whole. */
export function readLog(text: string): Read<readonly LogLine[]> {
  const lines: LogLine[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const read = readJson(line, logLineSchema);
    if (!read.ok) return { ok: false, problem: `line ${index + 1}: ${read.problem}` };
    lines.push(read.value);
  }
  return { ok: true, value: lines };
}

/** Never tells a value: it may be secret. */
function checked<T>(json: unknown, schema: z.ZodType<T>): Read<T> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return { ok: true, value: parsed.data };
  const [issue] = parsed.error.issues;
  const place = issue?.path.join('.') ?? '';
  return { ok: false, problem: `${place === '' ? 'the whole' : place}: ${issue?.code.replaceAll('_', ' ')}` };
}

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
export const logText = (lines: readonly LogLine[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
