/**
 * Owns which files hold the same state, and which of them counts. There are several after a merge that left both sides in the file, after a
 * synchronising tool kept a copy, or after writing to a temporary place instead of a read-only one. The one with the newer `updated_at`
 * counts; between equal times a person decides. The wall clock decides here, since files have no other order. Must write nothing.
 */

import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ConflictError, END_MISSING, parseJson, parseLenient, parseTime, TidemarkError } from '@tidemark/core';
import { readIfThere, type StateFiles } from './files.ts';
import { type Place, shown } from './place.ts';
import { recoverState } from './recover.ts';
import { type FileForm, formOf, type RepoState, stateFrom } from './state-file.ts';

export interface Candidate {
  readonly state: RepoState;
  /** How its file is written. */
  readonly form: FileForm;
  /** Its name in messages. */
  readonly where: string;
  readonly place: Place;
  readonly file: string;
  /** The part of it that is kept when another one counts. */
  readonly bytes: Uint8Array;
}

export interface Read {
  readonly candidates: readonly Candidate[];
  /** Texts of the state's own files that are no JSON. */
  readonly damaged: readonly { readonly place: Place; readonly bytes: Uint8Array }[];
  readonly warnings: readonly string[];
}

/** Reads the places in this order. Throws what `stateFrom` throws for their own files. */
export async function readCandidates(files: StateFiles, places: readonly Place[]): Promise<Read> {
  const candidates: Candidate[] = [];
  const damaged: { place: Place; bytes: Uint8Array }[] = [];
  const warnings: string[] = [];
  for (const place of places) {
    const own = await readOwn(files, place);
    candidates.push(...own.candidates);
    damaged.push(...own.damaged);
    warnings.push(...own.warnings);
    for (const name of await files.list(place.folder)) {
      if (!isCopy(name, place.name)) continue;
      const copy = await readCopy(files, place, path.join(place.folder, name));
      if ('state' in copy) candidates.push(copy);
      else warnings.push(copy.warning);
    }
  }
  return { candidates, damaged, warnings };
}

/** Names that synchronising tools give a second version: `x-state (conflicted copy).json`, `x-state.sync-conflict-….json`. */
export function isCopy(file: string, name: string): boolean {
  const stem = `${name}-state`;
  if (!file.startsWith(stem) || !file.endsWith('.json') || file.endsWith('-state.json')) return false;
  return /^(?: ?\(.+\)$| \d+$|[ ._~-].*conflict)/i.test(file.slice(stem.length, -'.json'.length));
}

async function readOwn(files: StateFiles, place: Place): Promise<Read> {
  const found = await readIfThere(files, place.file);
  if (found === undefined) return { candidates: [], damaged: [], warnings: [] };
  const where = shown(place, place.file);
  const text = Buffer.from(found.bytes).toString('utf8');
  const candidate = (state: RepoState, form: FileForm, said: string, bytes: Uint8Array): Candidate => ({
    state,
    form,
    where: said,
    place,
    file: place.file,
    bytes,
  });
  const strict = parseStrict(text);
  if (strict !== undefined) {
    const state = stateFrom(strict.value, place.name, where, found.changedMs);
    return {
      candidates: [candidate(state, formOf(strict.value), where, found.bytes)],
      damaged: [],
      warnings: [],
    };
  }
  const sides = mergeSides(text);
  const read = (sides ?? []).map((side) => ({ ...side, ...lenientState(side.text, place, found.changedMs) }));
  const whole = read.filter((side) => side.state !== undefined);
  if (whole.length > 0) {
    const candidates = whole.map(({ state, form, text: side, label }) =>
      candidate(state!, form, `${where} (${label})`, Buffer.from(side)),
    );
    return {
      candidates,
      damaged: [],
      warnings: [`${where} was left in the middle of a merge, with both sides in it.`],
    };
  }
  const { state, form, problems, lost } = lenientState(text, place, found.changedMs);
  const what = `${where} was damaged (${problems.join(', ')})`;
  const losses = lost.length === 0 ? 'nothing of it is known to be lost' : `lost: ${lost.join(', ')}`;
  const reported =
    state === undefined
      ? `${what}; no state could be read from it, so this is a fresh start.`
      : `${what}; it was read as far as it goes, ${losses}.`;
  return {
    candidates: state === undefined ? [] : [candidate(state, form, where, found.bytes)],
    damaged: [{ place, bytes: found.bytes }],
    warnings: [reported],
  };
}

function parseStrict(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseJson(text, 'The state') };
  } catch {
    return undefined;
  }
}

/** Throws for files of another workflow or a newer Tidemark, which we must not repair. */
function lenientState(text: string, place: Place, changedMs: number) {
  const { value, problems, isWhole } = parseLenient(text);
  const form = formOf(value ?? {});
  try {
    const recovered = recoverState(value, place.name, changedMs, problems.includes(END_MISSING));
    // With a comment or a comma too many another tool's file is whole all the same, and refused.
    if (recovered === undefined && isWhole) stateFrom(value, place.name, shown(place, place.file), changedMs);
    return { state: recovered?.state, form, problems, lost: recovered?.lost ?? [] };
  } catch (error) {
    const codes = isWhole ? ['state-invalid'] : ['state-invalid', 'state-foreign'];
    const isOurs = error instanceof TidemarkError && codes.includes(error.code);
    if (!isOurs) throw error;
    return { state: undefined, form, problems, lost: [] };
  }
}

/** Both texts of a file with the marks of a merge; undefined: it has none. */
export function mergeSides(text: string): readonly { readonly label: string; readonly text: string }[] | undefined {
  const sides: [string[], string[]] = [[], []];
  let into: 'both' | 'ours' | 'base' | 'theirs' = 'both';
  let merges = 0;
  for (const line of text.split('\n')) {
    if (/^<{7}(?: |\r?$)/.test(line)) {
      into = 'ours';
      merges += 1;
    } else if (into === 'ours' && /^\|{7}(?: |\r?$)/.test(line)) into = 'base';
    else if ((into === 'ours' || into === 'base') && /^={7}\r?$/.test(line)) into = 'theirs';
    else if (into === 'theirs' && /^>{7}(?: |\r?$)/.test(line)) into = 'both';
    else {
      if (into === 'both' || into === 'ours') sides[0].push(line);
      if (into === 'both' || into === 'theirs') sides[1].push(line);
    }
  }
  if (merges === 0 || into !== 'both') return undefined;
  return [
    { label: 'our side of the merge', text: sides[0].join('\n') },
    { label: 'their side of the merge', text: sides[1].join('\n') },
  ];
}

async function readCopy(
  files: StateFiles,
  place: Place,
  file: string,
): Promise<Candidate | { readonly warning: string }> {
  const where = shown(place, file);
  try {
    const found = await readIfThere(files, file);
    const { value } = parseStrict(Buffer.from(found?.bytes ?? []).toString('utf8')) ?? { value: undefined };
    const state = stateFrom(value, place.name, where, found?.changedMs);
    return { state, form: formOf(value), where, place, file, bytes: found?.bytes ?? Buffer.alloc(0) };
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return { warning: `${where} looks like a copy of this state, but can't be read as one; it was left as it is.` };
  }
}

export interface Judged {
  readonly winner: Candidate | undefined;
  readonly losers: readonly { readonly candidate: Candidate; readonly because: string; readonly same: boolean }[];
}

/** `choice`: which of equally new ones counts, from 1, as listed in the error. Throws `ConflictError` (`state-conflict`). */
export function judge(candidates: readonly Candidate[], choice: number | undefined): Judged {
  const ranked = [...candidates].sort((a, b) => timeOf(b) - timeOf(a));
  const first = ranked[0];
  if (first === undefined) return { winner: undefined, losers: [] };
  const equals = distinct(ranked.filter((each) => timeOf(each) === timeOf(first)));
  const chosen = equals.length > 1 ? equals[(choice ?? 0) - 1] : first;
  if (chosen === undefined) throw equalError(equals);
  const losers = ranked
    .filter((each) => each !== chosen)
    .map((candidate) => ({
      candidate,
      same: isDeepStrictEqual(candidate.state, chosen.state),
      because:
        timeOf(candidate) === timeOf(chosen)
          ? 'both are of the same time, and it was chosen'
          : `it is newer (${chosen.state.updated_at} against ${candidate.state.updated_at})`,
    }));
  return { winner: chosen, losers };
}

const timeOf = ({ state }: Candidate): number => parseTime(state.updated_at);

const distinct = (all: readonly Candidate[]): readonly Candidate[] =>
  all.filter((each, at) => !all.slice(0, at).some((other) => isDeepStrictEqual(other.state, each.state)));

function equalError(equals: readonly Candidate[]): ConflictError {
  const listed = equals.map(({ where, state }, at) => {
    const done = state.stages.filter(({ status }) => status === 'done').length;
    return `  ${at + 1}  ${where}: ${done} of ${state.stages.length} stages done, ${state.current_stage === null ? 'none left' : `at ${state.current_stage}`}`;
  });
  const name = equals[0]?.state.workflow ?? '';
  return new ConflictError(
    'state-conflict',
    `${equals.length} states of '${name}' differ and were changed at the same moment (${equals[0]?.state.updated_at}), so somebody must choose:\n${listed.join('\n')}\nType: tidemark state resume ${name} --choose 1${equals
      .slice(1)
      .map((_, at) => `, or --choose ${at + 2}`)
      .join('')}`,
    { candidates: equals.map(({ where }) => where) },
  );
}
