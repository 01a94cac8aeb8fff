/**
 * Owns whose the files are in a folder that Tidemark has not written to: those of the run that is shown here, as a script keeps them, or
 * another program's. Common names, such as `run_state.json`, are in many repositories. Another program's file is refused by its name, and
 * neither renamed nor replaced nor added to.
 */

import { InvalidError } from '@tidemark/core';
import {
  DEDUPE_INDEX,
  type DedupeIndex,
  dedupeIndexSchema,
  EXECUTION_LOG,
  HANDOFF,
  LAST_SUCCESS,
  lastSuccessFileSchema,
  RUN_STATE,
  readJson,
  readLog,
  runStateSchema,
} from './formats.ts';
import { readHandoffs } from './handoff-text.ts';

/** Why a file is another program's; undefined: it isn't. */
type Why = string | undefined;

/** A file whose place has no run_state.json of this run says by itself whether it is meant for it. */
const BY_THEMSELVES: Readonly<Record<string, (text: string) => Why>> = {
  [DEDUPE_INDEX]: whyIndex,
  [HANDOFF]: (text) =>
    text.trim() === '' || readHandoffs(text).length > 0 ? undefined : 'it has no heading `## FROM → TO Handoff`',
  [EXECUTION_LOG]: () => `there is no ${RUN_STATE} of this run beside it`,
  [LAST_SUCCESS]: () => `there is no ${RUN_STATE} of this run beside it`,
};

const BESIDE_ITS_STATE: Readonly<Record<string, (text: string) => Why>> = {
  [DEDUPE_INDEX]: whyIndex,
  [EXECUTION_LOG]: (text) => whyNot(readLog(text)),
  [LAST_SUCCESS]: (text) => whyNot(readJson(text, lastSuccessFileSchema)),
};

/** Throws `InvalidError` (`files-foreign`) for the first file of another program. */
export async function refuseOthers(
  folder: { readonly path: string; read(name: string): Promise<string | undefined> },
  run: string,
): Promise<void> {
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

/** Entries of any shape are objects; ours have a time, an output or a checksum. */
function whyIndex(text: string): Why {
  const read = readJson<DedupeIndex>(text, dedupeIndexSchema as never);
  if (!read.ok) return read.problem;
  const isOurs = Object.values(read.value).every((entry) =>
    ['executed_at', 'output', 'checksum'].some((field) => Object.hasOwn(entry, field)),
  );
  return isOurs ? undefined : 'an entry has neither executed_at nor output nor checksum';
}

const whyNot = (read: { readonly ok: true } | { readonly ok: false; readonly problem: string }): Why =>
  read.ok ? undefined : read.problem;
