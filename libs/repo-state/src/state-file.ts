/**
 * Owns the shape of a state's file, and telling a state from any other JSON. What is in a file and not in this shape is
 * kept as it is: scripts and other agents may have put it there. Pure.
 */

import { ConfigError, InvalidError, LimitError } from '@tidemark/core';
import { findSecrets, secretsTold } from '@tidemark/secrets';
import { z } from 'zod';
import { PROBLEMS_TOLD_MAX, STAGES_MAX, STATE_MAX_BYTES } from './limits.ts';

/** Version of the file's shape. A file of a greater one is left alone. */
export const FORMAT = 1;

export const STAGE_STATUSES = ['pending', 'in_progress', 'done', 'failed'] as const;
export type StageStatus = (typeof STAGE_STATUSES)[number];

const time = z.iso.datetime({ offset: true });
const text = z.string().min(1);

const checkEvidence = z.looseObject({
  command: text,
  /** Null: it was ended by a signal. */
  exit_code: z.int().nullable(),
  passed: z.boolean(),
  /** Why it was ended: `SIGKILL`, `timeout`. */
  ended_by: z.string().optional(),
  /** Its last lines, both streams; secrets are masked. */
  output: z.array(z.string()),
  /** Of the whole output, in hexadecimal. */
  output_sha256: z.string(),
  output_bytes: z.int().min(0),
  duration_ms: z.int().min(0),
  at: time,
});

const evidence = z.looseObject({ check: checkEvidence.optional() });

const stage = z.looseObject({
  id: text,
  status: z.enum(STAGE_STATUSES),
  evidence: evidence.optional(),
  /** A command that must pass before the stage counts as done. */
  check: text.optional(),
  /** Who changed it last, and when. */
  agent: z.string().optional(),
  updated_at: time.optional(),
});

const note = z.looseObject({ text: z.string(), at: time.optional(), agent: z.string().optional() });

const resolvedConflict = z.looseObject({
  at: time,
  /** Which one stayed, why, and where the other is kept. */
  kept: z.string(),
  because: z.string(),
  archived: z.string(),
});

const stateSchema = z.looseObject({
  format: z.int().min(1).default(FORMAT),
  workflow: text,
  version: z.int().min(1),
  created_at: time,
  updated_at: time,
  current_stage: z.string().nullable(),
  stages: z
    .array(stage)
    .max(STAGES_MAX)
    .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, { error: 'two stages have the same id' }),
  artifacts: z.record(z.string(), z.json()).default({}),
  notes: z.array(z.union([z.string().transform((said): z.infer<typeof note> => ({ text: said })), note])).default([]),
  shared: z.boolean().optional(),
  conflicts: z.array(resolvedConflict).optional(),
  completed_at: time.optional(),
});

export type CheckEvidence = z.infer<typeof checkEvidence>;
export type Evidence = z.infer<typeof evidence>;
export type Stage = z.infer<typeof stage>;
export type Note = z.infer<typeof note>;
export type ResolvedConflict = z.infer<typeof resolvedConflict>;
/** What the file holds. */
export type RepoState = z.infer<typeof stateSchema>;

/**
 * The state that the value is. Throws `InvalidError` (`state-foreign`: something else's JSON; `state-other-workflow`;
 * `state-invalid`, with the places) or `ConfigError` (`state-newer`). `file` is told.
 */
export function stateFrom(value: unknown, name: string, file: string): RepoState {
  const { format, workflow, stages } = (typeof value === 'object' && value !== null ? value : {}) as Partial<RepoState>;
  if (typeof workflow !== 'string' || !Array.isArray(stages)) {
    throw new InvalidError(
      'state-foreign',
      `${file} is not a state of a workflow (it has no workflow and stages). It was left as it is: move it away, or choose another name.`,
      { file },
    );
  }
  if (workflow !== name) {
    throw new InvalidError(
      'state-other-workflow',
      `${file} holds the state of '${workflow}', not of '${name}'. It was left as it is: give it the name ${workflow}-state.json, or move it away.`,
      { file, workflow },
    );
  }
  if (typeof format === 'number' && format > FORMAT) {
    throw new ConfigError(
      'state-newer',
      `${file} was written by a newer Tidemark (format ${format}; this one reads up to ${FORMAT}). It was left as it is: update Tidemark.`,
      { file, format },
    );
  }
  const parsed = stateSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${pointer(path)}: ${lowerFirst(message)}`);
  const told = problems.slice(0, PROBLEMS_TOLD_MAX).join('; ');
  throw new InvalidError('state-invalid', `${file} does not fit: ${told}. It was left as it is: correct it.`, { file });
}

/** What is written. Throws `InvalidError` (`state-secret`, with the places) and `LimitError` (`state-too-large`). */
export function textOf(state: RepoState): string {
  const found = findSecrets(state);
  if (found.length > 0) {
    throw new InvalidError(
      'state-secret',
      `The state was not written, for it would hold what looks like a secret at ${secretsTold(found)}. Say where the secret is kept instead, such as the name of a variable.`,
      { found },
    );
  }
  const written = `${JSON.stringify(state, undefined, 2)}\n`;
  const size = Buffer.byteLength(written);
  if (size > STATE_MAX_BYTES) {
    throw new LimitError(
      'state-too-large',
      `The state was not written, for it would take ${size} bytes; at most ${STATE_MAX_BYTES} fit. Keep large texts in files, and name those in the artifacts.`,
      { size },
    );
  }
  return written;
}

/** The first stage that isn't done; null: all are. */
export const currentStage = (stages: readonly Stage[]): string | null =>
  stages.find(({ status }) => status !== 'done')?.id ?? null;

const pointer = (path: readonly PropertyKey[]): string => (path.length === 0 ? 'the file' : `/${path.join('/')}`);
const lowerFirst = (said: string): string => said.charAt(0).toLowerCase() + said.slice(1);
