/**
 * Owns one pass over a folder: it takes over what came from outside, then writes the files from the run's rows. The log is right about what
 * it knows; what others wrote beside that stays.
 */

import { isoTime } from '@tidemark/core';
import { checksumOf, doneKey, doneSchema, pipelineSubject } from '@tidemark/sdk';
import { keyOutputPath, outputText, pathName, type RunDocuments, runDocuments } from './documents.ts';
import { digestOf, type FilesFolder } from './folder.ts';
import { FOLDER_STATE, FolderState, loadState } from './folder-state.ts';
import {
  DEDUPE_INDEX,
  type DedupeEntry,
  type DedupeIndex,
  dedupeIndexSchema,
  EXECUTION_LOG,
  HANDOFF,
  jsonText,
  LAST_SUCCESS,
  type LastSuccessFile,
  lastSuccessFileSchema,
  mergedLog,
  othersLines,
  type Read,
  RUN_STATE,
  type RunState,
  readJson,
  runStateSchema,
  type StepState,
} from './formats.ts';
import { readHandoffs, withHandoffs } from './handoff-text.ts';
import { foreign, refuseOthers, unfit } from './others.ts';
import { readWithin, resolveOutput } from './outputs.ts';
import type { Reports } from './reports.ts';
import type { RunView, Workflow } from './run-view.ts';
import type { ReadRecords, RunReader } from './source.ts';
import { keyMark, stepOf, takeHandoffs, takeKeys, theirMark, type WayBack } from './way-back.ts';
import { type FindSecrets, type Withheld, withhold } from './withhold.ts';

export interface KeeperOptions {
  readonly folder: FilesFolder;
  readonly reader: RunReader;
  readonly reports: Reports;
  /** Of earlier runs of the same pipeline. */
  readonly records?: ReadRecords | undefined;
  readonly back?: WayBack | undefined;
  readonly stepNames?: readonly string[] | undefined;
  readonly outside?: readonly string[] | undefined;
  readonly find?: FindSecrets | undefined;
  /** How long an unreadable file must stay the same before it is set aside, in milliseconds. */
  readonly settleMs: number;
  readonly nowMs: () => number;
}

/** The five files. */
export const SHARED_NAMES = [RUN_STATE, EXECUTION_LOG, LAST_SUCCESS, DEDUPE_INDEX, HANDOFF];

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #state: FolderState;
  /** Files that can't be read yet: their content, and since when. */
  readonly #unsettled = new Map<string, { readonly digest: string; readonly sinceMs: number }>();

  /** The outcome of comparing others' entries with the known ones. */
  readonly #compared = new Map<string, boolean>();

  /** Digests of outputs of other runs' keys that this has written, by path. */
  readonly #written = new Map<string, string>();

  /** Steps that others have marked done, which the run will skip. */
  #marked: ReadonlySet<string> = new Set();

  private constructor(options: KeeperOptions, state: FolderState) {
    this.#options = options;
    this.#state = state;
  }

  /** Throws `ConfigError` (`files-newer`). */
  static async open(options: KeeperOptions): Promise<Keeper> {
    const { folder } = options;
    const state = await loadState(folder);
    if (state !== 'corrupt') return new Keeper(options, state);
    const keeper = new Keeper(options, new FolderState(folder, null, []));
    await keeper.#setAside(FOLDER_STATE, 'it is not JSON of this form');
    // The file that names its run decides whose the files are.
    const read = readJson((await folder.read(RUN_STATE)) ?? '', runStateSchema);
    keeper.#state.run = read.ok ? read.value.pipeline_id : null;
    if (read.ok) await keeper.#adopt();
    await keeper.#state.save();
    return keeper;
  }

  /** False while it waits for a file that somebody seems to be writing. */
  get isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  async poll(row: Workflow): Promise<RunView> {
    const { reader, find, reports } = this.#options;
    const withheld = withhold(await reader.view(row), find);
    const { view } = withheld;
    for (const place of withheld.places)
      reports.report('withheld', `${place}: looks like a secret; it is not written.`);
    const documents = await this.#withLastSuccess(runDocuments(withheld), view);
    const recorded = await this.#recorded(view);
    if (!(await this.#checkFiles(withheld, documents, recorded.index))) return view;
    await this.#begin(view);
    // Others write a hand-over before the mark: what has the one has the other.
    const marks = await this.#options.folder.read(DEDUPE_INDEX);
    await this.#keepHandoffs(view);
    await this.#keepRun(withheld, documents, recorded, marks);
    // Of a script's folder only now: until then all of it is the script's.
    if (this.#state.run === view.workflow) await this.#state.saveWritten();
    else await this.#state.show(view.workflow);
    return view;
  }

  /** False: somebody seems to be writing one. Throws `InvalidError` (`files-foreign`) before any is touched; ours that are broken are set aside. */
  async #checkFiles({ view }: Withheld, documents: RunDocuments, recorded: DedupeIndex): Promise<boolean> {
    const { texts, dedupe, lastSuccess } = documents;
    const { folder } = this.#options;
    const { run: shown } = this.#state;
    const before = shown === null || shown === view.workflow ? undefined : shown;
    const keys = new Set([...Object.keys(dedupe), ...Object.keys(recorded)]);
    const own = { run: view.workflow, before, keys };
    const broken: [string, string][] = [];
    let isWaiting = false;
    for (const file of shown === null ? [] : SHARED_NAMES) {
      const text = await folder.read(file);
      const found = text === undefined || this.#state.isWritten(file, text) ? undefined : unfit(file, text, own);
      // Of a log with a cut line, that is said where its lines are kept.
      if (found === undefined) file !== EXECUTION_LOG && this.#unsettled.delete(file);
      else if (found.isForeign && !found.isBroken) throw foreign(folder.path, file, found.problem);
      else if (!(await this.#isSettled(file, text as string))) isWaiting = true;
      else if (found.isForeign) throw foreign(folder.path, file, found.problem);
      else broken.push([file, found.problem]);
    }
    for (const [file, text] of texts) await this.#refuseForeign(file, text);
    if (shown !== null && lastSuccess !== undefined) await this.#refuseOtherSuccess(lastSuccess);
    if (isWaiting) return false;
    for (const [file, problem] of broken) await this.#setAside(file, problem);
    return true;
  }

  /** Before a file is replaced whose content doesn't say whose it is. */
  async #refuseForeign(file: string, text: string): Promise<void> {
    const now = await this.#options.folder.read(file);
    if (now === undefined || now === text || this.#state.isWritten(file, now)) return;
    throw foreign(this.#options.folder.path, file, 'its content is not what was last written here');
  }

  async #write(file: string, text: string): Promise<void> {
    await this.#options.folder.write(file, text);
    this.#state.wrote(file, text);
  }

  async #writeLocked(file: string, change: (now: string | undefined) => Promise<string | undefined>): Promise<void> {
    const text = await this.#options.folder.replaceLocked(file, change);
    if (text !== undefined) this.#state.wrote(file, text);
  }

  /** What is there belongs to the run. */
  async #adopt(): Promise<void> {
    for (const file of SHARED_NAMES) {
      const text = await this.#options.folder.read(file);
      if (text !== undefined && adoptable(file, text)) this.#state.wrote(file, text);
    }
  }

  /** A run that the folder hasn't shown: the existing files belong to the previous one, or to a script that kept this one. */
  async #begin(view: RunView): Promise<void> {
    const { folder, reports } = this.#options;
    if (this.#state.run === view.workflow) return;
    const before = this.#state.run;
    if (before === null) {
      await refuseOthers(folder, view.workflow, this.#options.settleMs);
      return this.#adopt();
    }
    await this.#takeLast(before, view);
    for (const file of [HANDOFF, EXECUTION_LOG]) {
      if ((await folder.read(file)) === undefined) continue;
      const [name, ending] = file.split('.') as [string, string];
      const to = await folder.move(file, `archive/${name}-${this.#stamp()}-${pathName(before)}.${ending}`);
      reports.report('archived', `${file} of ${before} is ${to}`);
    }
    await this.#state.show(view.workflow);
  }

  /** What was written for the previous run after the last pass: it counts for that one, and marks for its input. */
  async #takeLast(workflow: string, { definition }: RunView): Promise<void> {
    const { folder, reader, find, back, reports } = this.#options;
    const row = await reader.newest({ workflow });
    const last = row && withhold(await reader.view(row), find);
    const marks = await folder.read(DEDUPE_INDEX);
    const outside = { folder, state: this.#state, back, find, reports };
    const written = readHandoffs((await folder.read(HANDOFF)) ?? '');
    await takeHandoffs(outside, last?.view ?? { workflow, definition }, written, last?.view.handoffs ?? []);
    if (last !== undefined)
      await this.#keepKeys(last, runDocuments(last).dedupe, await this.#recorded(last.view), marks);
  }

  async #keepHandoffs(view: RunView): Promise<void> {
    const { folder, back, find, reports } = this.#options;
    const text = (await folder.read(HANDOFF)) ?? '';
    const outside = { folder, state: this.#state, back, find, reports };
    await takeHandoffs(outside, view, readHandoffs(text), view.handoffs);
    let written = '';
    await folder.replace(HANDOFF, (now) => {
      written = withHandoffs(now ?? '', view.handoffs);
      return written;
    });
    this.#state.wrote(HANDOFF, written);
  }

  /** Where the run has not succeeded and the folder knows none that has: the newest one that did. */
  async #withLastSuccess(own: RunDocuments, { definition, tenant }: RunView): Promise<RunDocuments> {
    const { folder, reader, find } = this.#options;
    if (own.lastSuccess !== undefined || (await folder.read(LAST_SUCCESS)) !== undefined) return own;
    const view = await reader.lastSuccess(definition, tenant);
    if (view === undefined) return own;
    const { texts, lastSuccess } = runDocuments(withhold(view, find));
    return { ...own, lastSuccess, texts: new Map([...texts, ...own.texts]) };
  }

  async #keepRun(withheld: Withheld, documents: RunDocuments, recorded: Recorded, marks?: string): Promise<void> {
    const { folder } = this.#options;
    // Outputs first: a reader of their path in another file finds them.
    for (const [file, text] of documents.texts) await this.#write(file, text);
    await this.#keepLog(withheld.view.workflow, documents.log);
    await this.#keepKeys(withheld, documents.dedupe, recorded, marks);
    const { lastSuccess: last } = documents;
    if (last !== undefined) {
      const now = await folder.read(RUN_STATE);
      const { total_tokens_used: total } = this.#withOthersFields(now, documents.runState, withheld.view);
      const isOwn = last.pipeline_id === withheld.view.workflow;
      await this.#write(LAST_SUCCESS, jsonText(isOwn ? { ...last, total_tokens: total } : last));
    }
    // Last, so that a reader that waits for its status finds all the others.
    await this.#writeLocked(RUN_STATE, async (now) =>
      jsonText(this.#withOthersFields(now, documents.runState, withheld.view)),
    );
  }

  #withOthersFields(text: string | undefined, own: RunState, view: RunView): RunState {
    return withOthersFields(text, own, view, { isShown: this.#state.run !== null, marked: this.#marked });
  }

  /** Lines of others stay where their time has them; a file with a cut one is kept beside it. */
  async #keepLog(run: string, own: RunDocuments['log']): Promise<void> {
    const { folder, reports } = this.#options;
    const text = (await folder.read(EXECUTION_LOG)) ?? '';
    const { broken } = othersLines(text, run);
    if (broken.length === 0) this.#unsettled.delete(EXECUTION_LOG);
    else {
      if (!(await this.#isSettled(EXECUTION_LOG, text))) return;
      const to = `${EXECUTION_LOG}.corrupt-${this.#stamp()}`;
      await folder.write(to, text);
      reports.report(
        'corrupt',
        `${EXECUTION_LOG}: line ${broken[0]} is cut; it is now ${to}, and its whole lines stay.`,
      );
    }
    let written: string | undefined;
    await folder.replace(EXECUTION_LOG, (now) => {
      const others = othersLines(now ?? '', run);
      // Half a line has come since it was looked at: a later pass finds it whole, or settled.
      written = others.broken.length > broken.length ? undefined : mergedLog(others.lines, own, run);
      return written;
    });
    if (written !== undefined) this.#state.wrote(EXECUTION_LOG, written);
  }

  /** One of another run than this, which was not written here. */
  async #refuseOtherSuccess(own: LastSuccessFile): Promise<void> {
    const read = readJson((await this.#options.folder.read(LAST_SUCCESS)) ?? '', lastSuccessFileSchema);
    if (read.ok && read.value.pipeline_id !== own.pipeline_id) await this.#refuseForeign(LAST_SUCCESS, jsonText(own));
  }

  async #keepKeys({ view }: Withheld, own: DedupeIndex, recorded: Recorded, text: string | undefined): Promise<void> {
    const { folder, back, find, reports, outside, stepNames } = this.#options;
    const read: Read<DedupeIndex> =
      text === undefined ? { ok: true, value: {}, overlooked: [] } : readJson(text, dedupeIndexSchema as never);
    // Somebody has begun to write it since it was checked.
    if (!read.ok) return void (await this.#isSettled(DEDUPE_INDEX, text as string));
    const all = Object.entries(read.value).map(
      ([key, entry]) => [key, countingFor(view, key, entry, stepNames)] as const,
    );
    const isOther = ([key, { input }]: readonly [string, DedupeEntry]): boolean =>
      own[key] === undefined && this.#isOfOther(view, input);
    const others = Object.fromEntries(all.filter(isOther));
    const written = Object.fromEntries(all.filter((entry) => !isOther(entry)));
    const known: DedupeIndex = { ...recorded.index, ...own };
    const taken = Object.keys(known).filter((key) => others[key] === undefined);
    const marked = Object.fromEntries(all);
    await takeKeys({ folder, state: this.#state, back, find, reports, outside }, view, marked, new Set(taken));
    const isTaken = (key: string): boolean =>
      recorded.index[key] !== undefined || this.#state.has(theirMark(view, key, marked[key]!));
    const theirs = Object.keys(written).filter((key) => own[key] === undefined && isTaken(key));
    this.#marked = new Set(theirs.map((key) => stepOf(key, view.stepNames)));
    const kept = { ...known };
    for (const [key, entry] of Object.entries(written)) {
      const made = known[key];
      const isSilent = entry.output == null && entry.checksum == null;
      if (made === undefined) kept[key] = entry;
      // It says that the key is done, but not with which output; or it is that output, or our path to it.
      else if (isSilent || isOwn(entry, made) || entry.output === recorded.texts.get(key)?.file) continue;
      else if (await this.#isSame(entry, made)) kept[key] = entry;
      else if (!this.#state.has(keyMark(view, key, entry))) {
        reports.report('refused', `key ${JSON.stringify(key)}: it is done with another output, which is kept.`);
      }
    }
    for (const key of Object.keys(others)) {
      reports.report(
        'refused',
        `key ${JSON.stringify(key)}: it was done for another input, so this run does its step.`,
      );
    }
    await this.#state.take(...Object.entries(known).map(([key, entry]) => keyMark(view, key, entry)));
    for (const [key, { output }] of Object.entries(kept)) await this.#keepOutput(output, recorded.texts.get(key));
    // Somebody may have rewritten it since it was read: then the next pass takes that over first.
    await this.#writeLocked(DEDUPE_INDEX, async (now) => (now === text ? jsonText(kept) : undefined));
  }

  /** The file that an entry of another run's key names, where it is missing or the key has another output by now. */
  async #keepOutput(file: DedupeEntry['output'], made: { file: string; text: string } | undefined): Promise<void> {
    if (made === undefined || made.file !== file) return;
    const digest = digestOf(made.text);
    const isWritten = this.#written.get(file) === digest;
    if (isWritten && (await this.#options.folder.changeOf(file)) !== '') return;
    await this.#refuseForeign(file, made.text);
    await this.#write(file, made.text);
    this.#written.set(file, digest);
  }

  /** Whether it names the same output in its own words, or one that can't be read here. Cached, since each pass needs it. */
  async #isSame(entry: DedupeEntry, { checksum }: DedupeEntry): Promise<boolean> {
    const name = digestOf(JSON.stringify([entry, checksum]));
    const known = this.#compared.get(name);
    if (known !== undefined) return known;
    const made = await resolveOutput(entry, readWithin(this.#options.folder, this.#options.outside));
    const isSame = typeof made === 'string' || made.checksum === checksum;
    this.#compared.set(name, isSame);
    return isSame;
  }

  /** Keys that other runs of the pipeline have done. */
  async #recorded(view: RunView): Promise<Recorded> {
    const rows = (await this.#options.records?.(pipelineSubject(view.definition), doneKey(''))) ?? [];
    const texts = new Map<string, { file: string; text: string }>();
    const entries = rows.flatMap(({ key, value, at: recordedAt }) => {
      const done = doneSchema.safeParse(value);
      if (!done.success) return [];
      // What this run has done since it was read comes with the next pass; what was imported says nothing of its input.
      if (done.data.workflow === view.workflow && done.data.given !== undefined) return [];
      const hidden = (this.#options.find?.(done.data.output) ?? []).length > 0;
      const { output, checksum, input, at = recordedAt } = done.data;
      // A default key counts for its input alone.
      if (done.data.key !== undefined && this.#isOfOther(view, input)) return [];
      const name = done.data.key ?? key.slice(doneKey('').length);
      const isText = !hidden && output !== null;
      const file = isText ? keyOutputPath(name, output) : null;
      if (file !== null) texts.set(name, { file, text: outputText(output) });
      return [[name, { executed_at: at, output: file, checksum, ...(input !== undefined && { input }) }] as const];
    });
    return { index: Object.fromEntries(entries), texts };
  }

  /** A key that is done for another input doesn't count: their step would be skipped for good. */
  #isOfOther({ input: own }: RunView, input: string | null | undefined): boolean {
    return typeof input === 'string' && own?.startsWith(input) !== true;
  }

  async #isSettled(file: string, text: string): Promise<boolean> {
    const { settleMs, nowMs } = this.#options;
    const digest = digestOf(text);
    const seen = this.#unsettled.get(file);
    if (seen?.digest !== digest) this.#unsettled.set(file, { digest, sinceMs: nowMs() });
    const sinceMs = seen?.digest === digest ? seen.sinceMs : nowMs();
    return nowMs() - sinceMs >= settleMs;
  }

  async #setAside(file: string, why: string): Promise<void> {
    const to = await this.#options.folder.move(file, `${file}.corrupt-${this.#stamp()}`);
    this.#unsettled.delete(file);
    this.#options.reports.report('corrupt', `${file}: ${why}; it is now ${to}, and rebuilt from the log.`);
  }

  /** `20261122T093000.123Z`: also a file's name where colons can't be. */
  #stamp(): string {
    return isoTime(this.#options.nowMs()).replace(/[-:]/g, '');
  }
}

/** Keys that other runs have done, and the files that their entries name. */
interface Recorded {
  readonly index: DedupeIndex;
  readonly texts: ReadonlyMap<string, { readonly file: string; readonly text: string }>;
}

/** A log and a last success say nothing of their run that could be compared later; the other files do, and are compared again. */
const adoptable = (file: string, text: string): boolean =>
  file === EXECUTION_LOG ||
  (file === LAST_SUCCESS && readJson(text, lastSuccessFileSchema).ok) ||
  (file === HANDOFF && !/[\0\uFFFD]/.test(text));

/** The run's state with others' fields in its file, of the whole and of each step; what they say of steps that they have done stays. */
function withOthersFields(
  text: string | undefined,
  own: RunState,
  { done, tokens }: RunView,
  { isShown, marked }: { readonly isShown: boolean; readonly marked: ReadonlySet<string> },
): RunState {
  const read = readJson(text ?? '', runStateSchema);
  if (!read.ok || read.value.pipeline_id !== own.pipeline_id) return own;
  const { steps: theirs } = read.value;
  const steps = Object.entries(own.steps).map(([name, step]) => {
    const said = theirs[name];
    const made = done.filter((one) => one.step === name);
    const isTheirs =
      made.length === 0 ? marked.has(name) && step.status !== 'failed' : made.every(({ isSkipped }) => isSkipped);
    const words = isTheirs && said?.status === 'completed' ? saidIn(said) : {};
    return [name, { ...said, ...step, ...words }] as const;
  });
  const more = Object.entries(theirs).filter(([name, step]) => own.steps[name] === undefined && !isBare(step));
  // What others have counted is never less than what was imported of it.
  const { total_tokens_used: total, tidemark_tokens_used: counted = isShown ? tokens : 0 } = read.value;
  const total_tokens_used = Math.max(own.total_tokens_used, total - counted + tokens);
  return { ...read.value, ...own, steps: Object.fromEntries([...steps, ...more]), total_tokens_used };
}

const SAID = ['status', 'output_file', 'started_at', 'finished_at'] as const;
const saidIn = (step: StepState): Partial<StepState> =>
  Object.fromEntries(SAID.flatMap((field) => (step[field] == null ? [] : [[field, step[field]]])));

/** A mark that says no input counts for that of the run whose folder it is in. One that is of no step of its counts for any. */
function countingFor({ input }: RunView, key: string, entry: DedupeEntry, stepNames?: readonly string[]): DedupeEntry {
  const isOfStep = stepNames?.includes(stepOf(key, stepNames)) ?? true;
  return entry.input == null && isOfStep && input !== undefined ? { ...entry, input } : entry;
}

/** As it was written here: not in others' words, which stay. */
const isOwn = ({ output, checksum }: DedupeEntry, made: DedupeEntry): boolean =>
  checksum === made.checksum && (output == null || output === made.output || checksumOf(output) === checksum);

/** A step that this run could have written, and has no more. */
const isBare = (entry: object): boolean =>
  JSON.stringify({ ...entry, status: '', started_at: '' }) ===
  '{"status":"","output_file":null,"started_at":"","finished_at":null}';
