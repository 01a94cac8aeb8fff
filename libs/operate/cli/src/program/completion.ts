/** Owns `tidemark completion`: a script that completes commands and options in a shell. It is generated from the program itself, so it can't lag behind. */

import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '@tidemark/host/exit-codes';
import type { Session } from '../session.ts';

export const SHELLS = ['bash', 'zsh'] as const;
export type Shell = (typeof SHELLS)[number];

export const completion =
  (program: CommandUnknownOpts) =>
  async ({ terminal }: Session, shell: Shell): Promise<number> => {
    terminal.answer({ shell, script: scriptOf(program, shell) });
    terminal.line(scriptOf(program, shell));
    return EXIT.ok;
  };

/** Returns each command's path, with the words that may follow it. */
function tableOf(command: CommandUnknownOpts, path: readonly string[] = []): [string, readonly string[]][] {
  const visible = command.commands.filter((sub) => sub.name() !== 'help');
  const options = command.options.flatMap(({ long, hidden }) => (long == null || hidden ? [] : [long]));
  const own: [string, readonly string[]] = [
    path.join(' '),
    [...visible.map((sub) => sub.name()), ...options, '--help'],
  ];
  return [own, ...visible.flatMap((sub) => tableOf(sub, [...path, sub.name()]))];
}

/** Quotes nothing: no name or option of ours has a character that is special to a shell. */
function scriptOf(program: CommandUnknownOpts, shell: Shell): string {
  const cases = tableOf(program).map(([path, words]) => `    '${path}') words='${words.join(' ')}' ;;`);
  return [
    `# Completion of tidemark: source it, or put it where your shell looks for completions.`,
    ...(shell === 'zsh' ? ['autoload -U +X compinit && compinit', 'autoload -U +X bashcompinit && bashcompinit'] : []),
    '_tidemark() {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '  local current="${COMP_WORDS[COMP_CWORD]}" path="" words="" at',
    '  for ((at = 1; at < COMP_CWORD; at++)); do',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '    case "${COMP_WORDS[at]}" in -*) break ;; esac',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '    if _tidemark_words "${path:+$path }${COMP_WORDS[at]}"; then path="${path:+$path }${COMP_WORDS[at]}"; else break; fi',
    '  done',
    '  _tidemark_words "$path"',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
    '}',
    '_tidemark_words() {',
    '  words=""',
    '  case "$1" in',
    ...cases,
    '    *) return 1 ;;',
    '  esac',
    '}',
    'complete -o filenames -F _tidemark tidemark',
  ].join('\n');
}
