/** The runbook is true: its commands are run in order, on workflows such as it speaks of, and print what it says. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { EXIT } from '@tidemark/host';
import { expect, it } from 'vitest';
import { hold } from './called-cli.ts';
import { AGENTS, cliFolder } from './spawned-cli.ts';

const TIMEOUT_MS = 300_000;
/** Commands that want the folder for themselves; the others share it, which is quicker. */
const ALONE = /^tidemark (?:doctor --rows|rebuild)$/;
const RUNBOOK = path.resolve(import.meta.dirname, '../../../docs/runbook.md');

interface Called {
  readonly command: string;
  /** Texts that its output holds, in order. */
  readonly says: readonly string[];
}

function commandsIn(text: string): readonly Called[] {
  const blocks = [...text.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .filter((part) => part.trim() !== '')
      .map((part) => {
        const [command = '', ...says] = part.trimEnd().split('\n');
        return { command, says };
      }),
  );
}

/** Those within sentences, whose names are to be filled in. */
const mentionedIn = (text: string): readonly string[] =>
  [...text.matchAll(/`tidemark ([^`]+ [^`]+)`/g)].map(([, command]) => command!);

/** As a shell splits it: words, and texts in single quotes. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);

it(
  'each command exists, ends well, and says what to expect',
  async (context) => {
    const { folder, here } = await cliFolder(context, { TIDEMARK_WORKFLOWS: AGENTS });
    const input = JSON.stringify({ journal: path.join(folder, 'journal') });
    await here('run', 'trip', '--id', 't1', '--input', input);
    await here('run', 'parcel', '--id', 'p1', '--detach');
    const text = await readFile(RUNBOOK, 'utf8');
    const commands = commandsIn(text);
    expect(commands.length).toBeGreaterThan(20);
    let release: (() => Promise<void>) | undefined;
    for (const { command, says } of commands) {
      if (ALONE.test(command)) {
        await release?.();
        release = undefined;
      } else release ??= await hold({ cwd: folder });
      const [program, ...args] = wordsOf(command);
      expect(program).toBe('tidemark');
      const { code, out, err } = await here(...args);
      expect.soft(code, `${command}\n${out}${err}`).toBe(0);
      let from = 0;
      for (const text of says) {
        const at = `${out}${err}`.indexOf(text, from);
        expect.soft(at, `${command} says '${text}':\n${out}${err}`).toBeGreaterThanOrEqual(0);
        from = Math.max(at, from);
      }
    }
    const mentioned = mentionedIn(text);
    expect(mentioned.length).toBeGreaterThan(1);
    for (const command of mentioned) {
      const { code, err } = await here(...wordsOf(command.replace('COUNT', '1')));
      // Nobody is named ID; every option is there, and none is missing.
      expect.soft(code, `${command}\n${err}`).toBe(EXIT.invalid);
    }
    await release?.();
  },
  TIMEOUT_MS,
);
