/** Owns command lines for people to copy: quoted where a shell would read something else. Pure. */

export const shellWord = (text: string): string =>
  /^[\w./@:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command's place, as the user named it. */
export interface At {
  readonly state?: string | undefined;
  readonly context?: string | undefined;
}

/** The option that names it, where the user did. */
export const atWords = ({ state, context }: At): readonly string[] => {
  if (state !== undefined) return ['--state', state];
  return context === undefined ? [] : ['--context', context];
};

/** The command that shows a workflow there. */
export const showCommand = (workflow: string, at: At): string =>
  commandLine('tidemark', 'show', workflow, ...atWords(at));

/** The commands that answer an approval there. */
export const approvalCommands = (workflow: string, task: string, at: At): readonly string[] => {
  const words = (name: string): string => commandLine('tidemark', name, workflow, '--task', task, ...atWords(at));
  return [`${words('approve')} --value JSON --why TEXT`, `${words('reject')} --why TEXT`];
};

/** Joins words; undefined ones are left out. */
export const commandLine = (...words: readonly (string | undefined)[]): string =>
  words.flatMap((word) => (word === undefined ? [] : [shellWord(word)])).join(' ');
