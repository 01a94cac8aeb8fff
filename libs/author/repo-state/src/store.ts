/**
 * Owns reading and writing a state as a whole: under its lock it is read again, repaired, changed and replaced, so that neither of two
 * writers loses anything. The next place replaces one that can't be written. Before anything is removed, it is kept: damaged files, and
 * states that do not count. A crash at any point leaves a whole state, and repeats at most a copy in the archive.
 */

import path from 'node:path';
import { codeOf } from '@tidemark/blob-fs/durable-files';
import { ConfigError, isoTime, parseTime, TidemarkError, UnavailableError } from '@tidemark/core';
import { type Candidate, type Judged, judge, type Read, readCandidates } from './candidates.ts';
import {
  asStateError,
  isReadOnly,
  isTemporary,
  readIfThere,
  replaceFile,
  type StateFiles,
  tryToWrite,
  writeBeside,
} from './files.ts';
import { gitignoreFor } from './gitignore.ts';
import { withLock } from './lock.ts';
import { findRepository, makeReady, type Place, refuseLinks, shown, whyUnsafe } from './place.ts';
import { type RepoState, type ResolvedConflict, stateFrom, textOf } from './state-file.ts';
import { type Clock, stampOf } from './times.ts';
import { keepWaiting, type Waiting, withWaiting } from './waiting.ts';

/** Conflicts that a state records for the report; the archive has all of them. */
const CONFLICTS_KEPT_MAX = 20;

export interface StoreOptions {
  readonly files: StateFiles;
  /** In the order in which they are tried. */
  readonly places: readonly [Place, ...Place[]];
  readonly now: Clock;
  readonly lockWaitMs: number;
  /** Takes the lock; tests replace it to show its purpose. */
  readonly lock?: typeof withLock | undefined;
}

export interface Loaded {
  readonly state: RepoState | undefined;
  /** Writes even when nothing changed. */
  readonly needsRepair: boolean;
  /** Something waits, whether or not it counts. */
  readonly isWaiting: boolean;
  readonly file: string;
  readonly warnings: readonly string[];
}

/** What to do with the state. */
export type Step =
  | {
      readonly keep: RepoState;
      readonly backup?: { readonly stem: string; readonly ending: string };
      /** The file stays as it is; this is kept beside it. */
      readonly wait?: Waiting | undefined;
    }
  /** Moves it away under this name, since it is finished. */
  | { readonly archive: RepoState }
  | { readonly nothing: true };

export interface Found {
  /** It was recovered, and parts of it may be lost. */
  readonly isDamaged: boolean;
  readonly waiting: readonly Waiting[];
}

export type StateStep = (state: RepoState | undefined, at: string, found: Found) => Step;

export interface Stored {
  readonly state: RepoState | undefined;
  readonly file: string;
  readonly warnings: readonly string[];
  /** The copy of the previous content, or the finished state. */
  readonly beside?: string | undefined;
  /** The file is as it was. */
  readonly isWaiting?: boolean | undefined;
}

/** Codes of places instead of which the next one is taken. */
const UNUSABLE: readonly string[] = ['place-foreign', 'place-taken'];

export class StateStore {
  readonly #options: StoreOptions;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Reads without a lock and writes nothing: a state's file is always whole. Throws as `judge` does. */
  async load(choice?: number): Promise<Loaded> {
    const { files, places } = this.#options;
    const [own] = places;
    try {
      if ((await whyUnsafe(files, own)) === undefined) await refuseLinks(files, own);
      const { read, having } = await this.#read();
      const { winner, losers } = judge(read.candidates, choice);
      const applied = winner && (await withWaiting(files, having, winner));
      const place = winner?.place ?? having[0] ?? own;
      const isElsewhere = winner !== undefined && winner.place !== own;
      const isWaiting = applied?.isThere === true;
      return {
        state: applied?.state,
        needsRepair: read.damaged.length > 0 || losers.length > 0 || isElsewhere || isWaiting,
        isWaiting,
        file: winner?.where ?? shown(place, place.file),
        warnings: [...this.#warnings(place, []), ...read.warnings, ...(applied?.warnings ?? [])],
      };
    } catch (error) {
      throw asStateError(error, own.folder);
    }
  }

  /** In the first place that can be used. `step` may run more than once and must keep nothing of an earlier run. */
  async change(step: StateStep, choice?: number): Promise<Stored> {
    const refused: string[] = [];
    for (const place of this.#options.places) {
      try {
        const stored = await this.#changeIn(place, step, choice);
        return { ...stored, warnings: [...this.#warnings(place, refused), ...stored.warnings] };
      } catch (error) {
        const isUnusable = error instanceof ConfigError && UNUSABLE.includes(error.code);
        const isLast = place === this.#options.places.at(-1);
        if (isLast || !(isUnusable || isReadOnly(error))) throw asStateError(error, place.folder);
        refused.push(isUnusable ? error.message : `${place.folder} can't be written`);
      }
    }
    throw new UnavailableError('place-read-only', refused.join(', '));
  }

  #warnings(place: Place, refused: readonly string[]): readonly string[] {
    const { kind } = this.#options.places[0];
    const instead =
      refused.length === 0
        ? []
        : [
            `${refused.join(', and ')}, so the state is kept in ${place.file} until it can be there. It is lost when the system clears its temporary folder.`,
          ];
    if (kind !== 'shared') return instead;
    return [
      `There is no git repository here, so the state is in ${place.folder}, which a restart of the machine may delete, and which all folders outside of repositories share. Name another place to keep it (--dir).`,
      ...instead,
    ];
  }

  /** What the safe places have of this state, and which of them have something. */
  async #read(): Promise<{ readonly read: Read; readonly having: readonly Place[] }> {
    const { files, places } = this.#options;
    const having: Place[] = [];
    const all: Read[] = [];
    for (const place of places) {
      if ((await whyUnsafe(files, place)) !== undefined) continue;
      const own = all[0]?.candidates[0]?.state;
      const found = place.kind === 'shared' ? await this.#readShared(place, own) : await readCandidates(files, [place]);
      all.push(found);
      if (place === places[0] || found.candidates.length > 0) having.push(place);
    }
    const read = {
      candidates: all.flatMap(({ candidates }) => candidates),
      damaged: all.flatMap(({ damaged }) => damaged),
      warnings: all.flatMap(({ warnings }) => warnings),
    };
    return { read, having };
  }

  /** What other folders keep there is none of ours, whatever its shape. */
  async #readShared(place: Place, own: RepoState | undefined): Promise<Read> {
    const { files, places } = this.#options;
    const nothing: Read = { candidates: [], damaged: [], warnings: [] };
    const isFallback = places[0] !== place;
    try {
      const read = await readCandidates(files, [place]);
      if (!isFallback && read.candidates.length === 0) return read;
      const candidates: Candidate[] = [];
      for (const each of read.candidates) if (await this.#isOfHere(each, own)) candidates.push(each);
      return candidates.length === 0 ? nothing : { ...read, candidates };
    } catch (error) {
      if (isFallback && error instanceof TidemarkError) return nothing;
      throw error;
    }
  }

  /**
   * A state there says which folder it is of. Another program's doesn't: it is of here when it continues the state here, or when it is all
   * there can be, since nothing can be written here.
   */
  async #isOfHere({ state }: Candidate, own: RepoState | undefined): Promise<boolean> {
    const { files, places } = this.#options;
    const [{ kind, root, folder }] = places;
    if (kind === 'shared') return state.fallback_for === undefined;
    if (state.fallback_for !== undefined) return state.fallback_for === root;
    return own === undefined ? !(await files.canWrite(folder)) : own.created_at === state.created_at;
  }

  /** Throws `ConfigError` (`place-taken`) where the shared file is another folder's. */
  async #refuseTaken(place: Place, { candidates }: Read): Promise<void> {
    const { files } = this.#options;
    if (place.kind !== 'shared' || candidates.some(({ file }) => file === place.file)) return;
    const found = await readIfThere(files, place.file);
    const of = /"fallback_for": "([^"]+)"/.exec(textIn(found) ?? '')?.[1];
    if (found !== undefined && (of !== undefined || this.#options.places[0] !== place)) {
      throw new ConfigError('place-taken', `${place.file} is of ${of ?? 'another folder'}`, { file: place.file });
    }
  }

  async #changeIn(place: Place, step: StateStep, choice: number | undefined): Promise<Stored> {
    const { files, lock = withLock, lockWaitMs } = this.#options;
    await makeReady(files, place);
    try {
      return await lock(place.lock, lockWaitMs, () => this.#locked(place, step, choice));
    } catch (error) {
      // SQLite only says that it can't open it; the file system says why. Nothing but SQLite opens the lock's own file: closing it would
      // free it.
      if (codeOf(error) === 'ERR_SQLITE_ERROR') await tryToWrite(files, place.file);
      throw error;
    }
  }

  async #locked(place: Place, step: StateStep, choice: number | undefined): Promise<Stored> {
    const { files, now } = this.#options;
    await this.#removeAbandoned(place);
    const { read, having } = await this.#read();
    await this.#refuseTaken(place, read);
    const judged = judge(read.candidates, choice);
    const { winner } = judged;
    const applied = winner && (await withWaiting(files, having, winner));
    const before = applied?.state;
    const atMs = Math.max(now(), before === undefined ? 0 : parseTime(before.updated_at) + 1);
    const at = isoTime(atMs);
    const waiting = applied?.waiting ?? [];
    // The decision, or the refusal, comes before anything is touched.
    const todo = step(before, at, { isDamaged: read.damaged.length > 0, waiting });
    const next = this.#finished(todo, before, at, place);
    if (next !== undefined) textOf(next);
    const warnings = [...read.warnings, ...(applied?.warnings ?? [])];
    if ('keep' in todo && todo.wait !== undefined && winner?.place === place && applied?.isTouched !== true) {
      await keepWaiting(files, place, winner, [...waiting, todo.wait]);
      return { state: next, file: shown(place, place.file), warnings, isWaiting: true };
    }
    warnings.push(...(await this.#keepDamaged(place, read, atMs)));
    const conflicts = await this.#keepLosers(place, judged, atMs);
    const known = next && withConflicts(next, conflicts);
    const beside = await this.#write(place, todo, known, winner, atMs);
    const isWhole = applied !== undefined && applied.warnings.length === 0;
    await this.#removeKept(place, judged, read, { places: new Set([...having, place]), isWhole });
    warnings.push(...(known === undefined ? [] : await this.#keepGitignore(place, known)));
    return { state: known, file: shown(place, place.file), warnings, beside };
  }

  #finished(todo: Step, before: RepoState | undefined, at: string, place: Place): RepoState | undefined {
    if ('nothing' in todo) return before;
    const [own] = this.#options.places;
    const state = 'keep' in todo ? todo.keep : todo.archive;
    const fallback_for = place.kind === 'shared' && place !== own ? own.root : undefined;
    const next = { ...state, updated_at: at, fallback_for };
    // Data that callers put in must be readable again.
    return stateFrom(JSON.parse(JSON.stringify(next)), own.name, 'The new state');
  }

  async #write(
    place: Place,
    todo: Step,
    next: RepoState | undefined,
    winner: Candidate | undefined,
    atMs: number,
  ): Promise<string | undefined> {
    const { files } = this.#options;
    if (next === undefined) {
      await files.remove(place.file);
      return undefined;
    }
    const bytes = Buffer.from(textOf(next, winner?.form));
    if ('archive' in todo) {
      await this.#requireRemovable(place);
      const stem = `${place.name}-state-${stampOf(atMs)}`;
      const name = await this.#intoArchive(place, stem, bytes);
      await files.remove(place.file);
      await files.sync(place.folder);
      return name;
    }
    const backup = 'keep' in todo ? todo.backup : undefined;
    const kept = backup && winner && (await writeBeside(files, place.folder, backup.stem, backup.ending, winner.bytes));
    await replaceFile(files, place.file, bytes);
    return kept && shown(place, path.join(place.folder, kept));
  }

  /** A file that stays would look unfinished to the next reader. */
  async #requireRemovable(place: Place): Promise<void> {
    const { files, places } = this.#options;
    const [own] = places;
    if (own.kind !== 'own' || place === own || (await files.stat(own.file)).kind === 'absent') return;
    throw new UnavailableError(
      'place-read-only',
      `${own.file} can't be removed: its place can't be written. The state is kept in ${place.file}: archive it once the place can be written.`,
      { file: own.file },
    );
  }

  async #intoArchive(place: Place, stem: string, bytes: Uint8Array): Promise<string> {
    const { files } = this.#options;
    await files.makeFolder(place.archive, place.kind !== 'own');
    const name = await writeBeside(files, place.archive, stem, '.json', bytes);
    return shown(place, path.join(place.archive, name));
  }

  async #keepDamaged(place: Place, { damaged }: Read, atMs: number): Promise<readonly string[]> {
    const { files } = this.#options;
    const warnings: string[] = [];
    for (const { bytes } of damaged) {
      // The first keeps the plain name; later ones must not replace it.
      const plain = `${place.name}-state.json.corrupt`;
      const before = await readIfThere(files, path.join(place.folder, plain));
      const isFree = before === undefined || Buffer.compare(before.bytes, bytes) === 0;
      const stem = isFree ? `${place.name}-state.json` : `${place.name}-state.json.${stampOf(atMs)}`;
      const name = await writeBeside(files, place.folder, stem, '.corrupt', bytes);
      warnings.push(`The damaged file is kept as ${shown(place, path.join(place.folder, name))}.`);
    }
    return warnings;
  }

  async #keepLosers(place: Place, { winner, losers }: Judged, atMs: number): Promise<readonly ResolvedConflict[]> {
    const conflicts: ResolvedConflict[] = [];
    for (const { candidate, because, same } of losers) {
      if (same && candidate.file === winner?.file) continue;
      // It stays and loses again, until its place can be written.
      if (this.#stays(place, candidate.place)) continue;
      const archived = await this.#intoArchive(place, `conflict-${place.name}-state-${stampOf(atMs)}`, candidate.bytes);
      if (!same) conflicts.push({ at: isoTime(atMs), kept: winner?.where ?? '', because, archived });
    }
    return conflicts;
  }

  /** Files whose content was taken over, or is kept in the archive or as `.corrupt` by now; `isWhole`: all that waited was. */
  async #removeKept(
    place: Place,
    { winner, losers }: Judged,
    { damaged }: Read,
    { places, isWhole }: { readonly places: ReadonlySet<Place>; readonly isWhole: boolean },
  ): Promise<void> {
    const { files } = this.#options;
    const read = [...losers.map(({ candidate }) => candidate), ...(winner ? [winner] : [])];
    for (const { file, place: from } of [
      ...read,
      ...damaged.map((each) => ({ file: each.place.file, place: each.place })),
    ]) {
      if (file !== place.file && !this.#stays(place, from)) await files.remove(file);
    }
    for (const from of places) {
      if (this.#stays(place, from) || (await files.stat(from.waiting)).kind === 'absent') continue;
      // What waits and does not fit the state is kept beside it, for a person.
      if (isWhole) await files.remove(from.waiting);
      else await files.rename(from.waiting, `${from.waiting}.corrupt`);
    }
  }

  /** Only the holder of the lock writes, so a temporary file is a dead writer's. */
  async #removeAbandoned(place: Place): Promise<void> {
    const { files } = this.#options;
    for (const name of await files.list(place.folder)) {
      if (isTemporary(name, path.basename(place.file))) await files.remove(path.join(place.folder, name));
    }
  }

  /** A place before this one was tried in vain. */
  #stays(place: Place, from: Place): boolean {
    const { places } = this.#options;
    return places.indexOf(from) < places.indexOf(place);
  }

  async #keepGitignore(place: Place, state: RepoState): Promise<readonly string[]> {
    const { files, lock = withLock, lockWaitMs } = this.#options;
    if (place.kind !== 'own' || findRepository(place.root) === undefined) return [];
    const file = path.join(place.folder, '.gitignore');
    try {
      const before = await readIfThere(files, file);
      if (gitignoreFor(textIn(before), place.name, state.shared === true) === undefined) return [];
      // Other states have lines in it too, and locks of their own.
      await lock(path.join(place.folder, 'gitignore.lock'), lockWaitMs, async () => {
        const next = gitignoreFor(textIn(await readIfThere(files, file)), place.name, state.shared === true);
        if (next !== undefined) await replaceFile(files, file, Buffer.from(next));
      });
      return [];
    } catch (error) {
      // The state is written; a fault of a file beside it must not fail the call.
      return [`${shown(place, file)} could not be repaired: ${(error as Error).message}`];
    }
  }
}

const textIn = (found: { readonly bytes: Uint8Array } | undefined): string | undefined =>
  found && Buffer.from(found.bytes).toString('utf8');

function withConflicts(state: RepoState, resolved: readonly ResolvedConflict[]): RepoState {
  if (resolved.length === 0) return state;
  return { ...state, conflicts: [...(state.conflicts ?? []), ...resolved].slice(-CONFLICTS_KEPT_MAX) };
}
