/**
 * Owns the shape of a state's file, and distinguishing a state from any other JSON. Fields outside of this shape are kept: scripts and
 * other agents may have put them there. Pure.
 */

import { ConfigError, InvalidError, isoTime, type Json, LimitError, parseTime } from '@tidemark/core';
import { findSecrets, secretPlaces } from '@tidemark/secrets';
import { z } from 'zod';
import { PROBLEMS_REPORTED_MAX, STAGES_MAX, STATE_MAX_BYTES } from './limits.ts';

/** Version of the file's shape. A file of a greater one is left alone. */
export const FORMAT = 1;

export const STAGE_STATUSES = ['pending', 'in_progress', 'done', 'failed'] as const;
export type StageStatus = (typeof STAGE_STATUSES)[number];

const time = z
  .string()
  .refine((said) => !Number.isNaN(parseTime(said)), { error: 'must be a time such as 2026-03-01T14:03:11Z' });
const word = z.string().min(1);

const checkEvidence = z.looseObject({
  command: word,
  /** Null: a signal ended it. */
  exit_code: z.int().nullable(),
  passed: z.boolean(),
  /** What ended it: `SIGKILL`, `timeout`. */
  ended_by: z.string().optional(),
  /** Its last lines, both streams; secrets are masked. */
  output: z.array(z.string()),
  /** Digest of the whole output, in hexadecimal. */
  output_sha256: z.string(),
  output_bytes: z.int().min(0),
  duration_ms: z.int().min(0),
  at: time,
});

/** Others write a text or a list. */
const evidence = z.union([
  z.string().transform((said): EvidenceFields => ({ text: said })),
  z.array(z.json()).transform((items): EvidenceFields => ({ items })),
  z.looseObject({ check: checkEvidence.optional() }),
]);
type EvidenceFields = { readonly check?: z.infer<typeof checkEvidence> | undefined; [field: string]: unknown };

const stage = z.looseObject({
  id: word,
  status: z.enum(STAGE_STATUSES),
  evidence: evidence.optional(),
  /** A command that must pass before the stage counts as done. */
  check: word.optional(),
  /** Author and time of the last change. */
  agent: z.string().optional(),
  updated_at: time.optional(),
});

const note = z.looseObject({ text: z.string(), at: time.optional(), agent: z.string().optional() });

export type Note = z.infer<typeof note>;

const resolvedConflict = z.looseObject({
  at: time,
  /** Which one stayed, why, and where the other is kept. */
  kept: z.string(),
  because: z.string(),
  archived: z.string(),
});

const namedArtifacts = (list: readonly Json[]): Record<string, Json> =>
  Object.fromEntries(list.map((each, at) => [typeof each === 'string' ? each : `${at + 1}`, each]));

const stateSchema = z.looseObject({
  format: z.int().min(1).default(FORMAT),
  workflow: word,
  version: z.int().min(1).default(1),
  created_at: time,
  updated_at: time,
  current_stage: z.string().nullable().default(null),
  stages: z
    .array(stage)
    .max(STAGES_MAX)
    .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, { error: 'two stages have the same id' }),
  /** By name; others write a list of paths, each of which is a name. */
  artifacts: z.union([z.array(z.json()).transform(namedArtifacts), z.record(z.string(), z.json())]).default({}),
  /** Others write one text. */
  notes: z
    .union([
      z.string().transform((said): Note[] => (said === '' ? [] : [{ text: said }])),
      z.array(z.union([z.string().transform((said): Note => ({ text: said })), note])),
    ])
    .default([]),
  shared: z.boolean().optional(),
  conflicts: z.array(resolvedConflict).optional(),
  completed_at: time.optional(),
});

export type CheckEvidence = z.infer<typeof checkEvidence>;
export type Evidence = EvidenceFields;
export type Stage = z.infer<typeof stage>;
export type ResolvedConflict = z.infer<typeof resolvedConflict>;
/** Content of the file. */
export type RepoState = z.infer<typeof stateSchema>;

/**
 * Parses a state. Throws `InvalidError` (`state-foreign`: JSON of something else; `state-other-workflow`; `state-invalid`, with the places)
 * or `ConfigError` (`state-newer`). `file` is its name in messages; `changedMs`: when it last changed, for missing times.
 */
export function stateFrom(value: unknown, name: string, file: string, changedMs?: number): RepoState {
  const { format, workflow, stages } = (typeof value === 'object' && value !== null ? value : {}) as Partial<RepoState>;
  if (typeof workflow !== 'string' || !Array.isArray(stages)) {
    throw new InvalidError(
      'state-foreign',
      `${file} is not a state of a workflow (it has no workflow and stages). It was left as it is: move it elsewhere, or choose another name.`,
      { file },
    );
  }
  if (workflow !== name) {
    throw new InvalidError(
      'state-other-workflow',
      `${file} holds the state of '${workflow}', not of '${name}'. It was left as it is: give it the name ${workflow}-state.json, or move it elsewhere.`,
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
  const parsed = stateSchema.safeParse(withTimes(value as Partial<RepoState>, changedMs));
  if (parsed.success) return { ...parsed.data, current_stage: currentStage(parsed.data.stages) };
  const problems = parsed.error.issues.map(({ path, message }) => `${pointer(path)}: ${lowerFirst(message)}`);
  const reported = problems.slice(0, PROBLEMS_REPORTED_MAX).join('; ');
  throw new InvalidError('state-invalid', `${file} is not valid: ${reported}. It was left as it is: correct it.`, {
    file,
  });
}

function withTimes(value: Partial<RepoState>, changedMs: number | undefined): object {
  if (changedMs === undefined) return value;
  const updated_at = value.updated_at ?? isoTime(changedMs);
  return { ...value, created_at: value.created_at ?? updated_at, updated_at };
}

/** How a file writes fields with two forms. */
export interface FileForm {
  readonly artifacts: 'list' | 'map';
  readonly notes: 'text' | 'list';
}

/** Of what was parsed. */
export function formOf(value: unknown): FileForm {
  const { artifacts, notes } = value as { readonly artifacts?: unknown; readonly notes?: unknown };
  return { artifacts: Array.isArray(artifacts) ? 'list' : 'map', notes: typeof notes === 'string' ? 'text' : 'list' };
}

/** As the file's own reader expects it: evidence in the form of a text or a list is written as such. */
function written(state: RepoState, form: FileForm): object {
  const stages = state.stages.map((each) => {
    const [[field, value] = [], ...more] = Object.entries(each.evidence ?? {});
    return more.length === 0 && (field === 'text' || field === 'items') ? { ...each, evidence: value } : each;
  });
  const artifacts = form.artifacts === 'list' ? Object.values(state.artifacts) : state.artifacts;
  const notes = form.notes === 'text' ? state.notes.map(({ text: said }) => said).join('\n') : state.notes;
  return { ...state, stages, artifacts, notes };
}

/** The text to write. Throws `InvalidError` (`state-secret`, with the places) and `LimitError` (`state-too-large`). */
export function textOf(state: RepoState, form: FileForm = { artifacts: 'map', notes: 'list' }): string {
  const found = findSecrets(state);
  if (found.length > 0) {
    throw new InvalidError(
      'state-secret',
      `The state was not written, for it would hold what looks like a secret at ${secretPlaces(found)}. Say where the secret is kept instead, such as the name of a variable.`,
      { found },
    );
  }
  const text = `${JSON.stringify(written(state, form), undefined, 2)}\n`;
  const size = Buffer.byteLength(text);
  if (size > STATE_MAX_BYTES) {
    throw new LimitError(
      'state-too-large',
      `The state was not written, for it would take ${size} bytes; at most ${STATE_MAX_BYTES} fit. Keep large texts in files, and name those in the artifacts.`,
      { size },
    );
  }
  return text;
}

/** The first stage that isn't done; null: all are. */
export const currentStage = (stages: readonly Stage[]): string | null =>
  stages.find(({ status }) => status !== 'done')?.id ?? null;

const pointer = (path: readonly PropertyKey[]): string => (path.length === 0 ? 'the file' : `/${path.join('/')}`);
const lowerFirst = (said: string): string => said.charAt(0).toLowerCase() + said.slice(1);
