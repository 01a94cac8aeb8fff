/** Owns command lines as people copy them: quoted where a shell would read something else. Pure. */

export const shellWord = (text: string): string =>
  /^[\w./@:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The option that names the folder, where the user named one. */
export const stateWords = (state: string | undefined): readonly string[] =>
  state === undefined ? [] : ['--state', state];

/** The command that tells of a workflow in that folder. */
export const showCommand = (workflow: string, state: string | undefined): string =>
  commandLine('tidemark', 'show', workflow, ...stateWords(state));

/** Of words; undefined ones are left out. */
export const commandLine = (...words: readonly (string | undefined)[]): string =>
  words.flatMap((word) => (word === undefined ? [] : [shellWord(word)])).join(' ');
