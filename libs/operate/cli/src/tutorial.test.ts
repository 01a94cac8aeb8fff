/** The tutorial is true: its files are written and its commands run in order, as a reader does, and they print what it says. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commandsIn, Reader, unsaid } from './documented-commands-fixture.ts';

const TIMEOUT_MS = 300_000;
const ROOT = path.resolve(import.meta.dirname, '../../../..');

it(
  'a newcomer writes, kills, answers and looks, command by command',
  async (context) => {
    const text = await readFile(path.join(ROOT, 'docs/tutorial.md'), 'utf8');
    // Inside the repository, where its packages are found, as the tutorial says.
    await mkdir(path.join(ROOT, '.tmp'), { recursive: true });
    const folder = await mkdtemp(path.join(ROOT, '.tmp/tutorial-'));
    const reader = new Reader({ cwd: folder });
    context.onTestFinished(async () => {
      await reader.end();
      await rm(folder, { recursive: true, force: true });
    });
    for (const [, name, code] of text.matchAll(/^```ts (digest\S*\.ts)\n([\s\S]*?)^```$/gm)) {
      await writeFile(path.join(folder, name!), code!, { flag: 'a' });
    }
    const commands = commandsIn(text);
    expect(commands.length).toBeGreaterThan(12);
    for (const called of commands) {
      const ended = await reader.follow(called);
      const reported = `${called.command}\n${ended.out}${ended.err}`;
      expect(ended.code, reported).toBe(0);
      expect(unsaid(called, ended), reported).toBeUndefined();
    }
  },
  TIMEOUT_MS,
);
