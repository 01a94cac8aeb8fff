/** The runbook is true: its commands are run in order, on workflows such as it speaks of, and print what it says. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { EXIT } from '@tidemark/host';
import { expect, it } from 'vitest';
import { hold } from './called-cli-fixture.ts';
import { commandsIn, unsaid, wordsOf } from './documented-commands-fixture.ts';
import { AGENTS, cliFolder } from './spawned-cli-fixture.ts';

const TIMEOUT_MS = 300_000;
/** Commands that want the folder for themselves; the others share it, which is quicker. */
const ALONE = /^tidemark admin /;
/** Placeholders for numbers in the sentences of the book. */
const NUMBERS = /\b(?:COUNT|N|M)\b/g;
const RUNBOOK = path.resolve(import.meta.dirname, '../../../../docs/runbook.md');

/** Those within sentences, whose names are to be filled in. */
const mentionedIn = (text: string): readonly string[] =>
  [...text.matchAll(/`tidemark ([^`]+ [^`]+)`/g)].map(([, command]) => command!);

it(
  'each command exists, ends well, and says what to expect',
  async (context) => {
    const { folder, here } = await cliFolder(context, { TIDEMARK_WORKFLOWS: AGENTS });
    const input = JSON.stringify({ journal: path.join(folder, 'journal') });
    await here('run', 'trip', '--id', 't1', '--input', input);
    await here('run', 'greet', '--id', 'g1', '--input', '{"name":"Ana"}');
    const work = await hold({ cwd: folder, modules: [AGENTS] });
    await here('run', 'quote', '--id', 'q1', '--detach');
    await here('run', 'stubborn', '--id', 's1', '--detach');
    for (const id of ['q1', 's1'])
      await expect.poll(async () => (await here('show', id)).out).toContain('Ends by its next try');
    await work();
    await here('run', 'parcel', '--id', 'p1', '--detach');
    const archived = async () => JSON.parse((await here('admin', 'compact', '--older-than', '1s', '--json')).out);
    await expect.poll(archived).toMatchObject({ segments: 1 });
    const text = await readFile(RUNBOOK, 'utf8');
    const commands = commandsIn(text);
    expect(commands.length).toBeGreaterThan(20);
    let release: (() => Promise<void>) | undefined;
    for (const called of commands) {
      const { command } = called;
      if (ALONE.test(command)) {
        await release?.();
        release = undefined;
      } else release ??= await hold({ cwd: folder, modules: [AGENTS], runs: false });
      const [program, ...args] = wordsOf(command);
      expect(program).toBe('tidemark');
      const ended = await here(...args);
      expect.soft(ended.code, `${command}\n${ended.out}${ended.err}`).toBe(0);
      expect.soft(unsaid(called, ended), `${command}\n${ended.out}${ended.err}`).toBeUndefined();
    }
    const mentioned = mentionedIn(text);
    expect(mentioned.length).toBeGreaterThan(1);
    for (const command of mentioned) {
      const { code, err } = await here(...wordsOf(command.replaceAll(NUMBERS, '1')));
      // Nobody is named ID; every option is there, and none is missing.
      expect.soft(code, `${command}\n${err}`).toBe(EXIT.invalid);
    }
    await release?.();
  },
  TIMEOUT_MS,
);
