/**
 * Owns reading and writing a state as a whole: under its lock it is read again, repaired, changed and replaced, so that neither of two
 * writers loses anything. A temporary place replaces one that can't be written. Before anything is removed, it is kept: damaged files, and
 * states that do not count. A crash at any point leaves a whole state, and repeats at most a copy in the archive.
 */

import path from 'node:path';
import { codeOf } from '@tidemark/blob-fs/durable-files';
import { isoTime, parseTime, UnavailableError } from '@tidemark/core';
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
import { CONFLICTS_KEPT_MAX } from './limits.ts';
import { withLock } from './lock.ts';
import { findRepository, isOurs, makeReady, type Place, refuseLinks, refuseOthers, shown } from './place.ts';
import { type RepoState, type ResolvedConflict, stateFrom, textOf } from './state-file.ts';
import { type Clock, stampOf } from './times.ts';

export interface StoreOptions {
  readonly files: StateFiles;
  readonly own: Place;
  readonly temporary: Place;
  readonly now: Clock;
  readonly lockWaitMs: number;
  /** Takes the lock; tests replace it to show its purpose. */
  readonly lock?: typeof withLock | undefined;
}

export interface Loaded {
  readonly state: RepoState | undefined;
  /** Writes even when nothing changed. */
  readonly needsRepair: boolean;
  readonly file: string;
  readonly warnings: readonly string[];
}

/** What to do with the state. */
export type Step =
  | { readonly keep: RepoState; readonly backup?: { readonly stem: string; readonly ending: string } }
  /** Moves it away under this name, since it is finished. */
  | { readonly archive: RepoState }
  | { readonly nothing: true };

/** `isDamaged`: it was recovered, and parts of it may be lost. */
export type StateStep = (state: RepoState | undefined, at: string, isDamaged: boolean) => Step;

export interface Stored {
  readonly state: RepoState | undefined;
  readonly file: string;
  readonly warnings: readonly string[];
  /** The copy of the previous content, or the finished state. */
  readonly beside?: string | undefined;
}

export class StateStore {
  readonly #options: StoreOptions;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Reads without a lock and writes nothing: a state's file is always whole. Throws as `judge` does. */
  async load(choice?: number): Promise<Loaded> {
    const { files, own, temporary } = this.#options;
    try {
      await refuseLinks(files, own);
      const read = await readCandidates(files, await this.#readable());
      const { winner, losers } = judge(read.candidates, choice);
      const needsRepair = read.damaged.length > 0 || losers.length > 0 || winner?.place === temporary;
      return {
        state: winner?.state,
        needsRepair,
        file: winner?.where ?? shown(own, own.file),
        warnings: [...this.#warnings(), ...read.warnings],
      };
    } catch (error) {
      throw asStateError(error, own.folder);
    }
  }

  /** `step` may run more than once and must keep nothing of an earlier run. */
  async change(step: StateStep, choice?: number): Promise<Stored> {
    const { own, temporary } = this.#options;
    try {
      const stored = await this.#changeIn(own, step, choice);
      return { ...stored, warnings: [...this.#warnings(), ...stored.warnings] };
    } catch (error) {
      if (!isReadOnly(error)) throw asStateError(error, own.folder);
    }
    try {
      const stored = await this.#changeIn(temporary, step, choice);
      const warning = `${own.folder} can't be written, so the state is kept in ${temporary.file} until it can. It is lost when the system clears its temporary folder.`;
      return { ...stored, warnings: [warning, ...stored.warnings] };
    } catch (error) {
      throw asStateError(error, temporary.folder);
    }
  }

  #warnings(): readonly string[] {
    const { own } = this.#options;
    if (own.kind !== 'outside') return [];
    return [
      `There is no git repository here, so the state is in ${own.folder}, which a restart of the machine may delete, and which all folders outside of repositories share. Name another place to keep it (--dir).`,
    ];
  }

  /** The temporary place counts only where it is ours. */
  async #readable(): Promise<readonly Place[]> {
    const { files, own, temporary } = this.#options;
    if (own.kind === 'outside') await refuseOthers(files, own.folder, true);
    return (await isOurs(files, path.dirname(temporary.root))) ? [own, temporary] : [own];
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
    const read = await readCandidates(files, await this.#readable());
    const judged = judge(read.candidates, choice);
    const before = judged.winner?.state;
    const atMs = Math.max(now(), before === undefined ? 0 : parseTime(before.updated_at) + 1);
    const at = isoTime(atMs);
    // The decision, or the refusal, comes before anything is touched.
    const todo = step(before, at, read.damaged.length > 0);
    const next = this.#finished(todo, before, at);
    if (next !== undefined) textOf(next);
    const warnings = [...read.warnings, ...(await this.#keepDamaged(place, read, atMs))];
    const conflicts = await this.#keepLosers(place, judged, atMs);
    const known = next && withConflicts(next, conflicts);
    const beside = await this.#write(place, todo, known, judged.winner, atMs);
    await this.#removeKept(place, judged, read);
    warnings.push(...(known === undefined ? [] : await this.#keepGitignore(place, known)));
    return { state: known, file: shown(place, place.file), warnings, beside };
  }

  #finished(todo: Step, before: RepoState | undefined, at: string): RepoState | undefined {
    if ('nothing' in todo) return before;
    const state = 'keep' in todo ? todo.keep : todo.archive;
    const next = { ...state, updated_at: at };
    // Data that callers put in must be readable again.
    return stateFrom(JSON.parse(JSON.stringify(next)), this.#options.own.name, 'The new state');
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
    const { files, own } = this.#options;
    if (place.kind !== 'temporary' || (await files.stat(own.file)).kind === 'absent') return;
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
      if (stays(place, candidate.place)) continue;
      const archived = await this.#intoArchive(place, `conflict-${place.name}-state-${stampOf(atMs)}`, candidate.bytes);
      if (!same) conflicts.push({ at: isoTime(atMs), kept: winner?.where ?? '', because, archived });
    }
    return conflicts;
  }

  /** Files whose content was taken over, or is kept in the archive or as `.corrupt` by now. */
  async #removeKept(place: Place, { winner, losers }: Judged, { damaged }: Read): Promise<void> {
    const { files } = this.#options;
    const read = [...losers.map(({ candidate }) => candidate), ...(winner ? [winner] : [])];
    for (const { file, place: from } of [
      ...read,
      ...damaged.map((each) => ({ file: each.place.file, place: each.place })),
    ]) {
      if (file !== place.file && !stays(place, from)) await files.remove(file);
    }
  }

  /** Only the holder of the lock writes, so a temporary file is a dead writer's. */
  async #removeAbandoned(place: Place): Promise<void> {
    const { files } = this.#options;
    for (const name of await files.list(place.folder)) {
      if (isTemporary(name, path.basename(place.file))) await files.remove(path.join(place.folder, name));
    }
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

const stays = (place: Place, from: Place): boolean => place.kind === 'temporary' && from.kind !== 'temporary';

const textIn = (found: { readonly bytes: Uint8Array } | undefined): string | undefined =>
  found && Buffer.from(found.bytes).toString('utf8');

function withConflicts(state: RepoState, resolved: readonly ResolvedConflict[]): RepoState {
  if (resolved.length === 0) return state;
  return { ...state, conflicts: [...(state.conflicts ?? []), ...resolved].slice(-CONFLICTS_KEPT_MAX) };
}
