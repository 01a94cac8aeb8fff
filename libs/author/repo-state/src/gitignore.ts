/**
 * Owns `.workflow-state/.gitignore`: a block of lines between two marks. Locks, temporary, damaged and old files never get into the
 * repository; a state does when it is shared. Lines outside of the block are the user's and stay. Pure.
 */

const BEGIN = '# Kept by tidemark state: begin';
const END = '# Kept by tidemark state: end';
const NEVER = ['*.lock', '*.lock-journal', '*.tmp', '*.corrupt', '*.bak', 'archive/*', '*-state*.json'];

const sharedLines = (name: string): readonly string[] => [`!${name}-state.json`, `!archive/${name}-state-*.json`];

/** The file's new text, or undefined when it is up to date. `text`: undefined where there is no file. */
export function gitignoreFor(text: string | undefined, name: string, shared: boolean): string | undefined {
  const lines = (text ?? '').split(/\r?\n/);
  const begin = lines.indexOf(BEGIN);
  const end = lines.indexOf(END, begin + 1);
  const has = begin !== -1 && end !== -1;
  const others = (has ? lines.slice(begin + 1, end) : [])
    .map((line) => /^!(.+)-state\.json$/.exec(line)?.[1])
    .filter((other): other is string => other !== undefined && other !== name);
  const named = [...others, ...(shared ? [name] : [])].sort();
  // Where nothing is shared, nothing appears in `git status`, not even this file.
  const block = [BEGIN, ...NEVER, ...(named.length === 0 ? ['.gitignore'] : named.flatMap(sharedLines)), END];
  const before = has ? lines.slice(0, begin) : trimmed(lines);
  const after = has ? lines.slice(end + 1) : [];
  const next = [...before, ...block, ...(after.length === 0 ? [''] : after)].join('\n');
  return next === text ? undefined : next;
}

function trimmed(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line !== '');
  return lines.slice(0, last + 1);
}
