/** The README's quick start as a package, as it stands: in an empty folder, from a registry that has what was built. */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quickStart } from './quick-start.ts';
import { readPacked, type StandInRegistry, serveRegistry } from './registry.ts';
import { UserFolder } from './user-folder.ts';

const TIMEOUT_MS = 300_000;
const all = readPacked(process.env.TIDEMARK_PACKAGES!);
const start = quickStart();
const inside = start.folder;
const [run, ls, ...more] = start.commands;

let registry: StandInRegistry;
let user: UserFolder;
beforeAll(async () => {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  registry = await serveRegistry(all, upstream.endsWith('/') ? upstream : `${upstream}/`);
  user = new UserFolder(registry.url);
  await user.run(start.install);
  await writeFile(path.join(user.path, inside, start.file.name), start.file.text);
}, TIMEOUT_MS);
afterAll(async () => {
  await user?.remove();
  await registry?.close();
});

describe('the quick start', { timeout: TIMEOUT_MS }, () => {
  it('installs what was built, and nothing of development', async () => {
    expect(registry.asked).toContain('tidemark');
    const installed = JSON.parse(await user.run('npm ls --all --json --omit=optional', { inside })) as object;
    expect(installed).not.toHaveProperty('problems');
    for (const name of ['vitest', 'typescript', 'fast-check', '@tidemark/testkit', 'testcontainers']) {
      expect(JSON.stringify(installed), name).not.toContain(`"${name}":`);
    }
  });

  it('runs its workflow', async () => {
    const files = JSON.parse(/\{"files":[^']*/.exec(run!)![0]) as { readonly files: readonly string[] };
    const texts = await Promise.all(files.files.map((file) => readFile(path.join(user.path, inside, file), 'utf8')));
    const words = texts.reduce((sum, text) => sum + text.split(/\s+/).length, 0);
    const said = await user.run(`${run} --json`, { inside });
    expect(JSON.parse(said)).toMatchObject({ status: 'completed', output: { words } });
    expect(await user.run(ls!, { inside })).toMatch(/count-words.*completed/);
    expect(more).toEqual([]);
  });

  it('compiles as strictly as can be, the types of the packages too', async () => {
    await user.run(start.checks.install, { inside });
    // Stricter than the README: the types of the packages are checked too.
    const compile = `${start.checks.compile} --skipLibCheck false --pretty false`;
    expect(await user.run(compile, { inside })).toBe('');
    // Control: an input of the wrong shape is told.
    const wrong = start.file.text.replace('return { words }', "return { words: 'many' }");
    await writeFile(path.join(user.path, inside, start.file.name), wrong);
    await expect(user.run(compile, { inside })).rejects.toThrow(/error TS/);
    await writeFile(path.join(user.path, inside, start.file.name), start.file.text);
  });

  it('keeps dev running: with API and console, and another command beside it, until Ctrl-C', async () => {
    const dev = user.start(start.dev, { inside });
    const url = await dev.says(/api +(http:\S+)/);
    const page = await fetch(`${url}/workflows`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    const html = await page.text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)![1]!;
    expect((await fetch(url + script)).status).toBe(200);
    expect(await (await fetch(`${url}/openapi.json`)).json()).toHaveProperty('openapi');
    const beside = await user.run(`${run!.replace(/ --workflows \S+/, '')} --id beside --json`, { inside });
    expect(JSON.parse(beside)).toMatchObject({ status: 'completed' });
    await dev.says(/beside {2}completed/);
    await dev.end('SIGINT');
    expect(dev.said).toContain('Stopped.');
  });

  it('goes on after kill -9', async () => {
    const hold = 'if (process.env.HOLD === file) await new Promise((resolve) => setTimeout(resolve, 3_600_000));';
    const slow = start.file.text.replace('words += await', `${hold}\n      words += await`);
    await writeFile(path.join(user.path, inside, 'slow.ts'), slow);
    const input = `'{"files":["${start.file.name}","package.json"]}'`;
    const command = `npx tidemark run count-words --workflows slow.ts --id killed --input ${input}`;
    const first = user.start(command, { inside, env: { HOLD: 'package.json' } });
    await first.says(/#1 .*count/);
    await first.end('SIGKILL');
    expect(first.said).not.toContain('#2 ');
    const shown = JSON.parse(await user.run(`${command} --json`, { inside })) as object;
    // A checkpoint for each file: what was done before the kill was not done again.
    expect(shown).toMatchObject({ status: 'completed', sequence_number: 2, created: false });
  });

  it('tells a failure by the line of the source', async () => {
    const script =
      "import('@tidemark/sdk').then(({ defineWorkflow }) => defineWorkflow({})).catch((error) => console.log(error.stack))";
    const shown = await user.run(`node --enable-source-maps --eval "${script}"`, { inside });
    const at = /\((?:file:\/\/)?(\S+\/sdk\/src\/\S+\.ts):(\d+)/.exec(shown);
    expect(shown).toContain('Error');
    expect((await readFile(at![1]!, 'utf8')).split('\n').length).toBeGreaterThan(Number(at![2]));
  });
});
