import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadDefinitions } from './load-definitions.ts';

const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-host-'));
  const module = (definitions: readonly (readonly [string, number])[]): string =>
    definitions
      .map(
        ([name, version], n) =>
          `export const d${n} = { name: '${name}', version: ${version}, steps: new Map(), begin() {} };`,
      )
      .join('\n');
  await writeFile(
    path.join(folder, 'old.mjs'),
    module([
      ['refund', 1],
      ['audit', 4],
    ]),
  );
  await writeFile(
    path.join(folder, 'helper.mjs'),
    "export function fail() {\n  throw new Error('it failed at /x.ts:9');\n}\n",
  );
  await writeFile(path.join(folder, 'new.mjs'), module([['refund', 2]]));
  await writeFile(path.join(folder, 'other.mjs'), module([['refund', 2]]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const load = async (...modules: string[]) =>
  (await loadDefinitions(modules, folder)).map(({ name, version }) => `${name} v${version}`);

it('takes several versions of a workflow side by side, the newest first', async () => {
  expect(await load('./old.mjs', './new.mjs')).toEqual(['refund v2', 'refund v1', 'audit v4']);
});

it('refuses one version of a workflow from two modules', async () => {
  await expect(load('./new.mjs', './other.mjs')).rejects.toMatchObject({
    code: 'workflow-name-twice',
    message: './new.mjs and ./other.mjs both export a workflow refund v2. Rename one, or raise its version.',
  });
  expect(await load('./new.mjs', './new.mjs')).toEqual(['refund v2']);
});

it.each([
  ['./gone.mjs', undefined, './gone.mjs: there is no such file in FOLDER.'],
  ['a-file.json', '{}', 'a-file.json is no module: name a file that ends in .ts, .js, .mjs or alike.'],
  [
    './elsewhere.mjs',
    "import { fail } from './helper.mjs';\n\nfail();\n",
    './elsewhere.mjs: it failed at /x.ts:9 (elsewhere.mjs:3)',
  ],
  ['./throws.mjs', "\nthrow new Error('no key');\n", './throws.mjs: no key (throws.mjs:2)'],
])('names the module and the place that keep it from loading: %s', async (name, text, message) => {
  if (text !== undefined) await writeFile(path.join(folder, name), text);
  await expect(load(name)).rejects.toMatchObject({
    code: 'workflows-unreadable',
    message: message.replace('FOLDER', folder),
  });
});

it('names a package that is not installed, and no place of its own', async () => {
  const then = 'await loading.catch((error) => console.log(error.message));';
  const message = `no-such-package: there is no such file in ${folder}, and no package of this name is installed.\n`;
  expect(await written('no-such-package', then)).toBe(message);
});

/** What the script writes, in a process of its own: Vitest parses modules itself, and has its own stacks. */
async function written(file: string, then: string): Promise<string> {
  const module = JSON.stringify(new URL('./load-definitions.ts', import.meta.url).href);
  const script = `const { loadDefinitions } = await import(${module});
    const loading = loadDefinitions(['${file}'], process.cwd());
    ${then}`;
  return (await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder })).stdout;
}

it('has failures of what a compiler made told by the lines that its user wrote', async () => {
  const map = { version: 3, sources: ['agent.ts'], names: [], mappings: 'AAMA' };
  const link = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const code = "export const d = { name: 'd', version: 1, steps: new Map(), begin() { throw new Error('no') } };";
  await writeFile(path.join(folder, 'compiled.mjs'), `${code}\n${link}\n`);
  const then = 'try { (await loading)[0].begin(); } catch (error) { console.log(error.stack); }';
  expect(await written('./compiled.mjs', then)).toContain('agent.ts:7:');
});

it('tells the line of what Node itself cannot parse', async () => {
  await writeFile(path.join(folder, 'syntax.ts'), 'export const a = 1;\nconst b = {\n  c: 1;\n};\n');
  const stdout = await written('./syntax.ts', 'await loading.catch((error) => console.log(error.message));');
  expect(stdout).toBe("./syntax.ts: Expected ',', got ';' (syntax.ts:3)\n");
});
