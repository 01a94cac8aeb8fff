/**
 * Owns the operations on a state in a repository: init, checkpoint, resume, show, complete, migrate, update, patch. They return plain data
 * and warnings, and print nothing. Any number of processes may use the same state: each change reads it again under its lock. The clock is
 * a parameter; only here the wall clock decides what is newer.
 */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, ConflictError, InvalidError, isoTime, type Json } from '@tidemark/core';
import {
  type Beginning,
  begin,
  type Checked,
  type Checkpoint,
  checkpointed,
  completed,
  isContradicted,
  type Migration,
  type MigrationPlan,
  migrated,
  patched,
  updated,
  withStagesOf,
} from './changes.ts';
import { runCheck } from './check.ts';
import { linkError, nodeFiles, type StateFiles } from './files.ts';
import { CHECK_TIMEOUT_MS, LOCK_WAIT_MS } from './limits.ts';
import type { withLock } from './lock.ts';
import { checkName, placesOf, whyUnsafe } from './place.ts';
import { NO_STATE, type ResumeReport, reportOf } from './report.ts';
import { type CheckEvidence, type RepoState, textOf } from './state-file.ts';
import { type Loaded, StateStore, type Step, type Stored } from './store.ts';
import type { Clock } from './times.ts';
import type { Waiting } from './waiting.ts';

export interface RepoStateOptions {
  /** The repository, or another place: it contains `.workflow-state/`. Undefined: no repository, `/tmp/workflow-state`. */
  readonly folder: string | undefined;
  /** The workflow's name; the file is `<name>-state.json`. */
  readonly name: string;
  readonly now: Clock;
  /** Author of stages and notes. */
  readonly agent?: string | undefined;
  /** The version that the caller knows. An older state is migrated or refused, a newer one refused. Default: any. */
  readonly version?: number | undefined;
  /** By the version from which they start. */
  readonly migrations?: Readonly<Record<number, Migration>> | undefined;
  /** Write after this many stages became done (default 1: each). A failed stage, the last one and a note are written at once. */
  readonly checkpointEvery?: number | undefined;
  /** Default 10 minutes. */
  readonly checkTimeoutMs?: number | undefined;
  /** Called right before a check runs, with its command and the folder: to show it, or to refuse it by throwing. */
  readonly onCheck?: ((stage: string, command: string, folder: string) => void) | undefined;
  /** Ends checks that run. */
  readonly signal?: AbortSignal | undefined;
  /** Where to write when the folder can't be written. Default: the system's. */
  readonly temporaryFolder?: string | undefined;
  /** Default 10 s. */
  readonly lockWaitMs?: number | undefined;
  /** For tests: the file system and the lock. */
  readonly files?: StateFiles | undefined;
  readonly lock?: typeof withLock | undefined;
}

export interface StateResult {
  readonly state: RepoState;
  /** The state's file, relative to its folder; in the temporary place its whole path. */
  readonly file: string;
  readonly warnings: readonly string[];
}

export interface CheckpointResult extends StateResult {
  /** False: it waits beside the file for `checkpointEvery`, or for any other change. */
  readonly saved: boolean;
  /** False: a check failed, and its stage with it; later stages of the call were left as they are. */
  readonly passed: boolean;
  readonly checks: readonly { readonly stage: string; readonly evidence: CheckEvidence }[];
}

/** Throws `InvalidError` for a name that could lead out of the folder. Reads and writes nothing. */
export function openRepoState(options: RepoStateOptions): RepoStateFile {
  return new RepoStateFile(options);
}

export class RepoStateFile {
  readonly #options: RepoStateOptions;
  readonly #store: StateStore;
  readonly #root: string;

  constructor(options: RepoStateOptions) {
    const { folder, name, now, files = nodeFiles, temporaryFolder, lock } = options;
    checkName(name);
    const { checkpointEvery = 1 } = options;
    if (!Number.isSafeInteger(checkpointEvery) || checkpointEvery < 1) {
      throw new InvalidError('option-invalid', 'checkpointEvery must be a whole number from 1.');
    }
    this.#options = options;
    this.#root = path.resolve(folder ?? '.');
    const places = placesOf(folder, name, temporaryFolder);
    this.#store = new StateStore({ files, places, now, lock, lockWaitMs: options.lockWaitMs ?? LOCK_WAIT_MS });
  }

  /** Begins. Throws `ConflictError` (`state-exists`) when a state exists. */
  async init(given: Beginning): Promise<StateResult> {
    const stored = await this.#store.change((before, at) => {
      if (before !== undefined) throw existsError(before);
      return { keep: this.#begun(given, at) };
    });
    const result = resultOf(stored);
    if (given.shared !== true || !(await isIgnored(this.#root, stored.file))) return result;
    const warning = `git ignores ${stored.file} although it is to be shared: remove the line that ignores it from the repository's .gitignore.`;
    return { ...result, warnings: [...result.warnings, warning] };
  }

  /**
   * Finds where work resumes, and repairs the state: conflicts, damage, a state left in the temporary place, an older version with
   * migrations. `choose`: which of equally new states counts. `otherwise`: begins this where there is none.
   */
  async resume(
    how: { readonly choose?: number | undefined; readonly otherwise?: Beginning | undefined } = {},
  ): Promise<ResumeReport> {
    const loaded = await this.#store.load(how.choose);
    const begins = loaded.state === undefined && how.otherwise !== undefined;
    const leads = loaded.state !== undefined && this.#migratesFrom(loaded.state);
    if (!loaded.needsRepair && !begins && !leads) {
      this.#requireVersion(loaded.state);
      return reportOf(loaded.state, loaded.file, loaded.warnings);
    }
    const stored = await this.#store.change((before, at, { isDamaged }): Step => {
      if (before === undefined) {
        return how.otherwise === undefined ? { nothing: true } : { keep: this.#begun(how.otherwise, at) };
      }
      if (!isDamaged || how.otherwise === undefined) return this.#ready(before);
      return this.#ready(withStagesOf(before, this.#begun(how.otherwise, at)));
    }, how.choose);
    const report = reportOf(stored.state, stored.file, stored.warnings);
    return begins && stored.state ? { ...report, fresh: true, line: NO_STATE } : report;
  }

  /**
   * Records the status of stages, notes and artifacts. A stage with a check that becomes done is checked first; the evidence is kept either
   * way. Without a state it begins one with these stages.
   */
  async checkpoint(given: Checkpoint): Promise<CheckpointResult> {
    const asked = { ...given, agent: given.agent ?? this.#options.agent };
    const known = (await this.#store.load()).state;
    this.#refuseEarly(asked, known);
    const { change, checks } = await this.#checked(asked, known);
    const checked = Object.fromEntries(checks.map(({ stage, evidence }) => [stage, evidence]));
    const passed = checks.every(({ evidence }) => evidence.passed);
    const stored = await this.#store.change((before, at, { waiting }) => {
      const byBoth = new Set(checks.flatMap((check) => refuseChanged(check, known, before)));
      const keep = this.#applied(before, change, new Map(Object.entries(checked)), at, byBoth);
      const isDue = before === undefined || byBoth.size > 0 || this.#isDue(change, waiting, keep);
      const wait = { at, change: { ...change, status: 'done' as const }, checked };
      return { keep, wait: isDue ? undefined : JSON.parse(JSON.stringify(wait)) };
    });
    return { ...resultOf(stored), saved: stored.isWaiting !== true, passed, checks };
  }

  /** Writes what waits for `checkpointEvery`. Undefined: nothing waited. */
  async flush(): Promise<StateResult | undefined> {
    const { isWaiting } = await this.#store.load();
    return isWaiting ? this.update((state) => state) : undefined;
  }

  /** The state with what waits. Repairs nothing; of equally new states it shows the first and warns. */
  async show(): Promise<Omit<StateResult, 'state'> & { readonly state: RepoState | undefined }> {
    const { state, file, warnings } = await this.#store.load().catch(async (error: unknown): Promise<Loaded> => {
      if (!(error instanceof ConflictError && error.code === 'state-conflict')) throw error;
      const loaded = await this.#store.load(1);
      return { ...loaded, warnings: [error.message, ...loaded.warnings] };
    });
    return { state, file, warnings };
  }

  /** Makes any change, read and written under the lock: a blackboard. `change` must be pure; it may run more than once. */
  async update(change: (state: RepoState) => RepoState): Promise<StateResult> {
    return resultOf(
      await this.#store.change((before) => ({
        keep: updated(this.#versioned(existing(before, this.#options.name)), change),
      })),
    );
  }

  /**
   * Applies a JSON merge patch (RFC 7396) under the lock, so that no concurrent write is lost. Throws `InvalidError` (`patch-field-owned`)
   * for stages and fields that Tidemark owns.
   */
  patch(change: Readonly<Record<string, Json>>): Promise<StateResult> {
    return this.update((state) => patched(state, change));
  }

  /** Moves a finished state into `archive/`. Throws `ConflictError` (`stages-open`), unless `open` allows for it. */
  async complete({
    open = false,
  }: {
    readonly open?: boolean | undefined;
  } = {}): Promise<StateResult & { readonly archived: string }> {
    const stored = await this.#store.change((before, at) => ({
      archive: completed(this.#versioned(existing(before, this.#options.name)), at, open),
    }));
    return { ...resultOf(stored), archived: stored.beside! };
  }

  /** Migrates to a greater version; the old file is kept as `<name>-state.v<old>.json.bak`. */
  async migrate(plan: MigrationPlan): Promise<StateResult & { readonly from: number; readonly backup: string }> {
    await this.flush();
    let from = 0;
    const stored = await this.#store.change((before) => {
      const state = existing(before, this.#options.name);
      from = state.version;
      return this.#migration(state, { migrations: this.#options.migrations, ...plan });
    });
    return { ...resultOf(stored), from, backup: stored.beside! };
  }

  #begun(given: Beginning, at: string): RepoState {
    const { name, agent, version } = this.#options;
    return begin(name, { ...given, agent: given.agent ?? agent, version: given.version ?? version }, at);
  }

  #applied(
    before: RepoState | undefined,
    change: Checkpoint,
    checked: Checked,
    at: string,
    byBoth?: ReadonlySet<string>,
  ): RepoState {
    const state = before === undefined ? this.#begun({ stages: [] }, at) : this.#versioned(before);
    return checkpointed(state, before === undefined ? { ...change, add: true } : change, checked, at, byBoth);
  }

  #isDue(change: Checkpoint, waiting: readonly Waiting[], next: RepoState): boolean {
    const { checkpointEvery = 1 } = this.#options;
    const { stages: ids = [] } = change;
    if (change.status !== 'done' || ids.length === 0 || change.note !== undefined) return true;
    return (
      ids.length + waiting.flatMap((each) => each.change.stages).length >= checkpointEvery ||
      next.stages.some(({ id, status }) => status === 'failed' && ids.includes(id)) ||
      next.stages.every(({ status }) => status === 'done')
    );
  }

  /** Refuses an impossible change before a check runs for minutes. */
  #refuseEarly(change: Checkpoint, known: RepoState | undefined): void {
    const status = change.status === 'done' ? 'in_progress' : change.status;
    const begun = { ...change, status, ...(change.status === 'done' && { take: true }) };
    textOf(this.#applied(known, begun, new Map(), isoTime(this.#options.now())));
  }

  /** Runs the checks of stages that become done, until one fails; later stages are left out of the change. */
  async #checked(change: Checkpoint, state: RepoState | undefined) {
    const checks: { stage: string; evidence: CheckEvidence }[] = [];
    const reached: string[] = [];
    for (const id of change.stages ?? []) {
      const known = state?.stages.find((stage) => stage.id === id);
      reached.push(id);
      const command = change.check ?? known?.check;
      if (change.status !== 'done' || command === undefined) continue;
      const { now, signal, checkTimeoutMs = CHECK_TIMEOUT_MS, onCheck } = this.#options;
      onCheck?.(id, command, this.#root);
      const evidence = await runCheck(command, { cwd: this.#root, timeoutMs: checkTimeoutMs, now, signal });
      checks.push({ stage: id, evidence });
      if (!evidence.passed) break;
    }
    return { change: { ...change, stages: reached }, checks };
  }

  #versioned(state: RepoState): RepoState {
    this.#requireVersion(state);
    return state;
  }

  #migratesFrom({ version }: RepoState): boolean {
    const { version: known, migrations } = this.#options;
    if (known === undefined || migrations === undefined || version >= known) return false;
    return Array.from({ length: known - version }, (_, at) => version + at).every(
      (from) => migrations[from] !== undefined,
    );
  }

  #ready(state: RepoState): Step {
    if (!this.#migratesFrom(state)) return { keep: this.#versioned(state) };
    return this.#migration(state, { to: this.#options.version!, migrations: this.#options.migrations });
  }

  #migration(state: RepoState, plan: MigrationPlan): Step {
    const backup = { stem: `${this.#options.name}-state.v${state.version}`, ending: '.json.bak' };
    return { keep: migrated(state, plan), backup };
  }

  #requireVersion(state: RepoState | undefined): void {
    const { version: known, name } = this.#options;
    if (state === undefined || known === undefined || state.version === known) return;
    if (state.version > known) {
      throw new ConfigError(
        'state-newer',
        `The state of '${name}' has version ${state.version}, and this workflow is of version ${known}. It was left as it is: use the newer workflow.`,
      );
    }
    throw new ConfigError(
      'state-older',
      `The state of '${name}' has version ${state.version}, and this workflow is of version ${known}. Type: tidemark state migrate ${name} --to ${known}`,
    );
  }
}

const resultOf = ({ state, file, warnings }: Stored): StateResult => ({ state: state!, file, warnings });

/**
 * Another program's word on a stage counts more than a check that began before it. Returns the stage where that has finished it too. Throws
 * `ConflictError` (`stage-changed`).
 */
function refuseChanged(
  { stage: id, evidence }: CheckpointResult['checks'][number],
  known: RepoState | undefined,
  now: RepoState | undefined,
): readonly string[] {
  const stageIn = (state: RepoState | undefined) => state?.stages.find((stage) => stage.id === id);
  const [before, found] = [stageIn(known), stageIn(now)];
  const status = evidence.passed ? 'done' : 'failed';
  const isOther = found?.check !== before?.check;
  if (!isOther && !isContradicted(before, found, { status, at: evidence.at })) {
    return status === 'done' && found?.status === 'done' && !isDeepStrictEqual(before, found) ? [id] : [];
  }
  throw new ConflictError(
    'stage-changed',
    `stages: another program changed '${id}' while its check ran (it is ${found?.status ?? 'gone'}); nothing was written. Read the state, and check it again.`,
    { field: 'stages', stage: id },
  );
}

function existing(state: RepoState | undefined, name: string): RepoState {
  if (state !== undefined) return state;
  throw new InvalidError('state-missing', `There is no state of '${name}'. Begin with: tidemark state init ${name}`);
}

function existsError({ workflow, stages }: RepoState): ConflictError {
  const done = stages.filter(({ status }) => status === 'done').length;
  return new ConflictError(
    'state-exists',
    `There is a state of '${workflow}' already, with ${done} of ${stages.length} stages done. Continue with tidemark state resume ${workflow}, or archive it with tidemark state complete ${workflow}.`,
  );
}

/** Git starts the program that a repository's own settings name as its file watcher, unless the command says that there is none. */
const NO_WATCHER = ['-c', 'core.fsmonitor=false'];

/** Whether git ignores the file, by any rule. False also without git or a repository: then nothing is ignored. */
const isIgnored = (folder: string, file: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile('git', [...NO_WATCHER, 'check-ignore', '--quiet', '--', file], { cwd: folder }, (error) =>
      resolve(error === null),
    );
  });

/** Lists the states of a folder, and reads none. Names, sorted; empty where there is no folder of states. `folder`: as for `openRepoState`. Throws `InvalidError` (`state-link`). */
export async function listStates(folder: string | undefined): Promise<readonly string[]> {
  const places = placesOf(folder, '');
  const place = (await whyUnsafe(nodeFiles, places[0])) === undefined ? places[0] : places.at(-1)!;
  const { folder: states } = place;
  if ((await nodeFiles.stat(states)).kind === 'link') throw linkError(states);
  const names = await nodeFiles.list(states);
  return names.flatMap((file) => /^([A-Za-z0-9][A-Za-z0-9._-]*)-state\.json$/.exec(file)?.[1] ?? []);
}
