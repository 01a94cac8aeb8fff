/**
 * Owns whose the files are: those of the run that is shown here, as we or a script keep them, or another program's. Common names, such as
 * `run_state.json`, are in many repositories. Another program's file is refused by its name, and neither renamed nor replaced nor added to.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidError } from '@tidemark/core';
import {
  DEDUPE_INDEX,
  type DedupeIndex,
  dedupeIndexSchema,
  EXECUTION_LOG,
  HANDOFF,
  LAST_SUCCESS,
  lastSuccessFileSchema,
  othersLines,
  type Read,
  RUN_STATE,
  readJson,
  runStateSchema,
} from './formats.ts';
import { readHandoffs } from './handoff-text.ts';

/** Period at which a file that somebody seems to be writing is read again, in milliseconds. */
const SETTLE_PERIOD_MS = 50;

/** Why a file is another program's; undefined: it isn't. */
type Why = string | undefined;

/** A file whose place has no run_state.json of this run says by itself whether it is meant for it. */
const BY_THEMSELVES: Readonly<Record<string, (text: string) => Why>> = {
  [DEDUPE_INDEX]: whyIndex,
  [HANDOFF]: whyHandoff,
  [EXECUTION_LOG]: () => `there is no ${RUN_STATE} of this run beside it`,
  [LAST_SUCCESS]: () => `there is no ${RUN_STATE} of this run beside it`,
};

const BESIDE_ITS_STATE: Readonly<Record<string, (text: string) => Why>> = {
  [DEDUPE_INDEX]: whyIndex,
  [EXECUTION_LOG]: whyLog,
  [LAST_SUCCESS]: (text) => whyNot(readJson(text, lastSuccessFileSchema)),
};

/**
 * Throws `InvalidError` (`files-foreign`) for the first file of another program. A state that somebody seems to be writing is read again
 * until it has stayed the same for so long.
 */
export async function refuseOthers(
  folder: { readonly path: string; read(name: string): Promise<string | undefined> },
  run: string,
  settleMs: number,
): Promise<void> {
  for (let [text, sinceMs] = [await folder.read(RUN_STATE), performance.now()]; ; ) {
    const isBegun = text !== undefined && !readJson(text, runStateSchema).ok && beginsAsOurs(text, run);
    if (!isBegun || performance.now() - sinceMs >= settleMs) break;
    await sleep(SETTLE_PERIOD_MS);
    const now = await folder.read(RUN_STATE);
    if (now !== text) [text, sinceMs] = [now, performance.now()];
  }
  const refuse = async (file: string, whyOf: (text: string) => Why): Promise<boolean> => {
    const text = await folder.read(file);
    const why = text === undefined ? undefined : whyOf(text);
    if (why !== undefined) throw foreign(folder.path, file, why);
    return text !== undefined;
  };
  const hasState = await refuse(RUN_STATE, (text) => whyState(text, run));
  for (const [file, whyOf] of Object.entries(hasState ? BESIDE_ITS_STATE : BY_THEMSELVES)) await refuse(file, whyOf);
}

export const foreign = (folder: string, file: string, why: string): InvalidError =>
  new InvalidError(
    'files-foreign',
    `${file} in ${folder} is another program's: ${why}. It was left as it is: name another folder, or move it elsewhere.`,
    { file, folder },
  );

function whyState(text: string, run: string): Why {
  const read = readJson(text, runStateSchema);
  if (!read.ok) return read.problem;
  return read.value.pipeline_id === run ? undefined : 'its pipeline_id is not this run';
}

const hasEntryField = (entry: unknown): boolean =>
  typeof entry === 'object' &&
  entry !== null &&
  ['executed_at', 'output', 'checksum'].some((field) => Object.hasOwn(entry, field));

/** Entries of any shape are objects; ours have a time, an output or a checksum. */
function whyIndex(text: string): Why {
  const read = readJson<DedupeIndex>(text, dedupeIndexSchema as never);
  if (!read.ok) return read.problem;
  return Object.values(read.value).every(hasEntryField)
    ? undefined
    : 'an entry has neither executed_at nor output nor checksum';
}

/** Nothing but hand-overs: a document of another program may have such a heading among others. */
function whyHandoff(text: string): Why {
  if (text.trim() === '') return undefined;
  if (readHandoffs(text).length === 0) return NO_HANDOFF;
  const headings = text.split(/\r?\n/).filter((line) => /^##? /.test(line));
  const isOurs = /^##? /.test(text.trimStart()) && headings.every((line) => readHandoffs(line).length > 0);
  return isOurs ? undefined : 'it has text or headings beside its hand-overs';
}

function whyLog(text: string): Why {
  const { lines, broken, hasLine } = othersLines(text, '');
  return hasLine || lines.length + broken.length === 0 ? undefined : 'no line of it has ts and action';
}

const NO_HANDOFF = 'it has no heading `## FROM → TO Handoff`';

/** What tells the files of a run from others', where their content isn't what was last written. */
export interface Own {
  readonly run: string;
  /** The run that the folder has shown until now, if it is another. */
  readonly before: string | undefined;
  /** Of the dedupe index. */
  readonly keys: ReadonlySet<string>;
}

export interface Unfit {
  readonly problem: string;
  readonly isForeign: boolean;
  /** Somebody may be writing it. */
  readonly isBroken: boolean;
}

/** What is wrong with a file in a folder that shows a run. Others' programs add to these files, and rewrite them in the same form. */
export function unfit(file: string, text: string, own: Own): Unfit | undefined {
  const of = UNFIT[file];
  if (of === undefined) return undefined;
  const isBlank = text.replaceAll('\0', '').trim() === '';
  if (isBlank && file !== RUN_STATE && file !== LAST_SUCCESS && file !== DEDUPE_INDEX) return undefined;
  return isBlank ? { problem: 'it is empty', isForeign: false, isBroken: true } : of(text, own);
}

const UNFIT: Readonly<Record<string, (text: string, own: Own) => Unfit | undefined>> = {
  [RUN_STATE]: (text, own) => unfitJson(readJson(text, runStateSchema), text, own, false),
  // An earlier run may be the last that succeeded; a whole one that is to be replaced must be ours.
  [LAST_SUCCESS]: (text, own) => unfitJson(readJson(text, lastSuccessFileSchema), text, own, true),
  [EXECUTION_LOG]: unfitLog,
  [DEDUPE_INDEX]: unfitIndex,
  [HANDOFF](text) {
    if (readHandoffs(text).length === 0) return foreignWhole(NO_HANDOFF);
    return /[\0\uFFFD]/.test(text) ? { problem: 'it is not text', isForeign: false, isBroken: true } : undefined;
  },
};

const foreignWhole = (problem: string): Unfit => ({ problem, isForeign: true, isBroken: false });

function unfitJson(
  read: Read<{ readonly pipeline_id: string }>,
  text: string,
  { run, before }: Own,
  isAnyRun: boolean,
): Unfit | undefined {
  const isKnown = (id: unknown): boolean => id === run || (before !== undefined && id === before);
  if (read.ok) {
    return isAnyRun || isKnown(read.value.pipeline_id) ? undefined : foreignWhole('its pipeline_id is not this run');
  }
  const found = read.found ?? plainJson(text);
  if (found === undefined) {
    const isOurs = beginsAsOurs(text, run) || (before !== undefined && beginsAsOurs(text, before));
    return { problem: read.problem, isForeign: !isOurs, isBroken: true };
  }
  const id = typeof found === 'object' && found !== null && 'pipeline_id' in found ? found.pipeline_id : undefined;
  const isOurs = isKnown(id) || (isAnyRun && typeof id === 'string');
  return { problem: read.problem, isForeign: !isOurs, isBroken: false };
}

/** JSON that isn't read here, since a number would be rounded or a name is there twice, is whole all the same. */
function plainJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** Empty, or cut off within or behind the run's name, with which such a file begins. */
function beginsAsOurs(text: string, run: string): boolean {
  const [begun, whole] = [text, `{"pipeline_id":${JSON.stringify(run)}`].map((each) => each.replace(/[\s\0]/g, '')) as [
    string,
    string,
  ];
  return whole.startsWith(begun) || begun.startsWith(whole);
}

/** Others add lines, and those stay: a log whose lines are of this form is replaced by nothing that lacks them. */
function unfitLog(text: string): Unfit | undefined {
  const problem = whyLog(text);
  return problem === undefined
    ? undefined
    : { problem, isForeign: true, isBroken: othersLines(text, '').broken.length > 0 };
}

function unfitIndex(text: string, { keys }: Own): Unfit | undefined {
  const read = readJson<DedupeIndex>(text, dedupeIndexSchema as never);
  if (read.ok) {
    const why = whyIndex(text);
    return why === undefined || Object.keys(read.value).some((key) => keys.has(key)) ? undefined : foreignWhole(why);
  }
  const found = read.found ?? plainJson(text);
  if (found === undefined) {
    const begun = /^\s*\{\s*(?:"([^"]*))?/.exec(text);
    const isOurs = begun !== null && (begun[1] === undefined || [...keys].some((key) => key.startsWith(begun[1]!)));
    return { problem: read.problem, isForeign: !isOurs, isBroken: true };
  }
  const isOurs =
    typeof found === 'object' &&
    found !== null &&
    Object.entries(found).some(([key, entry]) => keys.has(key) || hasEntryField(entry));
  return { problem: read.problem, isForeign: !isOurs, isBroken: false };
}

const whyNot = (read: { readonly ok: true } | { readonly ok: false; readonly problem: string }): Why =>
  read.ok ? undefined : read.problem;
