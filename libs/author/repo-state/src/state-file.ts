/**
 * Owns the shape of a state's file, and distinguishing a state from any other JSON. Fields outside of this shape are kept: scripts and
 * other agents may have put them there. Pure.
 */

import { ConfigError, InvalidError, isoTime, type Json, LimitError, parseTime } from '@tidemark/core';
import { findSecrets, secretPlaces } from '@tidemark/secrets';
import { z } from 'zod';
import { STAGES_MAX, STATE_MAX_BYTES } from './limits.ts';

/** Problems of a file that are reported one by one. */
const PROBLEMS_REPORTED_MAX = 5;

/** Version of the file's shape. A file of a greater one is left alone. */
export const FORMAT = 1;

export const STAGE_STATUSES = ['pending', 'in_progress', 'done', 'failed'] as const;
export type StageStatus = (typeof STAGE_STATUSES)[number];

const time = z
  .string()
  .refine((said) => !Number.isNaN(parseTime(said)), { error: 'must be a time such as 2026-03-01T14:03:11Z' });
const word = z.string().min(1);

export const checkEvidence = z.looseObject({
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

/** A file has a text or a list, and beside a text, what else there is in `evidence_fields`. */
const evidence = z.union([
  z.string().transform((said): EvidenceFields => ({ text: said })),
  z.array(z.json()).transform((items): EvidenceFields => ({ items })),
  z.looseObject({ check: checkEvidence.optional() }),
]);
type EvidenceFields = { readonly check?: z.infer<typeof checkEvidence> | undefined; [field: string]: unknown };

const stageFields = z.looseObject({
  id: word,
  status: z.enum(STAGE_STATUSES),
  evidence: evidence.optional(),
  evidence_fields: z.looseObject({ check: checkEvidence.optional() }).optional(),
  /** A command that must pass before the stage counts as done. */
  check: word.optional(),
  /** Author and time of the last change. */
  agent: z.string().optional(),
  updated_at: time.optional(),
});

const stage = stageFields.transform(({ evidence_fields: fields, ...rest }) => {
  const text = rest.evidence?.text;
  if (fields === undefined || typeof text !== 'string') return rest;
  return { ...rest, evidence: text === evidenceText(fields) ? fields : { ...fields, text } };
});

/** For readers that know a text alone. */
function evidenceText({ text, check, ...others }: EvidenceFields): string {
  if (typeof text === 'string') return text;
  const ran = check && `${check.command}: ${check.passed ? 'passed' : 'failed'}`;
  return [ran, Object.keys(others).length > 0 && JSON.stringify(others)].filter(Boolean).join('; ');
}

const note = z.looseObject({ text: z.string(), at: time.optional(), agent: z.string().optional() });

export type Note = z.infer<typeof note>;

const resolvedConflict = z.looseObject({
  at: time,
  /** Which one stayed, why, and where the other is kept. */
  kept: z.string(),
  because: z.string(),
  archived: z.string(),
});

const stateFields = z.looseObject({
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
  artifacts: z.union([z.array(z.json()), z.record(z.string(), z.json())]).default([]),
  /** Names and values that a list of paths can't say. */
  artifact_names: z.record(z.string(), z.json()).optional(),
  notes: z
    .union([z.string(), z.array(z.union([z.string().transform((said): Note => ({ text: said })), note]))])
    .default(''),
  /** Times and authors of the notes, which one text can't say. */
  note_entries: z.array(note).optional(),
  shared: z.boolean().optional(),
  conflicts: z.array(resolvedConflict).optional(),
  completed_at: time.optional(),
  /** In the temporary folder that repositories share: which one it is of. */
  fallback_for: z.string().optional(),
});

const stateSchema = stateFields.transform(({ artifact_names: names, note_entries: entries, ...rest }) => ({
  ...rest,
  artifacts: Array.isArray(rest.artifacts) ? artifactsFrom(rest.artifacts, names) : rest.artifacts,
  notes: typeof rest.notes === 'string' ? notesFrom(rest.notes, entries) : rest.notes,
}));

/** The list decides which paths there are; one without a name is its own. */
function artifactsFrom(list: readonly Json[], names: Readonly<Record<string, Json>> = {}): Record<string, Json> {
  const named = Object.entries(names).filter(([, value]) => typeof value !== 'string' || list.includes(value));
  const others = list.filter((each) => named.every(([, value]) => value !== each));
  return Object.fromEntries([
    ...others.map((each, at): [string, Json] => [typeof each === 'string' ? each : `${at + 1}`, each]),
    ...named,
  ]);
}

/** The text decides: what another program appended to it is one more note, and a text of its own replaces all. */
function notesFrom(said: string, entries: readonly Note[] = []): Note[] {
  const known = plainNotes(entries);
  if (said === known) return [...entries];
  if (entries.length > 0 && said.startsWith(`${known}\n`)) {
    return [...entries, { text: said.slice(known.length + 1) }];
  }
  return said === '' ? [] : [{ text: said }];
}

const plainNotes = (notes: readonly Note[]): string => notes.map(({ text: said }) => said).join('\n');

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

/** How a file writes fields with two forms: `plain` as other programs know them, with what is ours in fields beside them. */
export interface FileForm {
  readonly artifacts: 'plain' | 'map';
  readonly notes: 'plain' | 'list';
  readonly evidence: 'plain' | 'fields';
  /** As it says; absent: it doesn't, as another program's may not. */
  readonly created_at?: string | undefined;
}

const PLAIN: FileForm = { artifacts: 'plain', notes: 'plain', evidence: 'plain' };

/** Of what was parsed. */
export function formOf(value: unknown): FileForm {
  const { artifacts, notes, stages, created_at } = value as Readonly<Record<string, unknown>>;
  const evidence = Array.isArray(stages) ? stages.map((each) => (each as Partial<Stage> | null)?.evidence) : [];
  return {
    artifacts: isMap(artifacts) ? 'map' : 'plain',
    notes: Array.isArray(notes) ? 'list' : 'plain',
    evidence: evidence.some(isMap) ? 'fields' : 'plain',
    ...(typeof created_at === 'string' && { created_at }),
  };
}

const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

function written(state: RepoState, form: FileForm): object {
  const { artifacts, notes, ...rest } = state;
  return {
    ...rest,
    stages: state.stages.map((each) => writtenStage(each, form)),
    ...(form.artifacts === 'map' ? { artifacts } : plainArtifacts(artifacts)),
    ...(form.notes === 'list' ? { notes } : { notes: plainNotes(notes), ...entriesOf(notes) }),
  };
}

function writtenStage(stage: Stage, form: FileForm): object {
  const { evidence: fields } = stage;
  if (fields === undefined) return stage;
  const [[field, value] = [], ...more] = Object.entries(fields);
  if (more.length === 0 && (field === 'text' || field === 'items')) return { ...stage, evidence: value };
  return form.evidence === 'fields' ? stage : { ...stage, evidence: evidenceText(fields), evidence_fields: fields };
}

function plainArtifacts(artifacts: RepoState['artifacts']): object {
  const all = Object.entries(artifacts);
  // What another program listed without being a path was numbered when it was read.
  const listed = all.filter(([name, value]) => typeof value === 'string' || /^\d+$/.test(name));
  const named = all.filter(([name, value]) => name !== value && (typeof value === 'string' || !/^\d+$/.test(name)));
  return {
    artifacts: [...new Set(listed.map(([, value]) => value))],
    ...(named.length > 0 && { artifact_names: Object.fromEntries(named) }),
  };
}

const entriesOf = (notes: readonly Note[]): object =>
  notes.some((each) => Object.keys(each).length > 1) ? { note_entries: notes } : {};

/** The text to write. Throws `InvalidError` (`state-secret`, with the places) and `LimitError` (`state-too-large`). */
export function textOf(state: RepoState, form: FileForm = PLAIN): string {
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
