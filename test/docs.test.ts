/**
 * The snippets of the documentation that name a file (```ts budgets.ts) are true: those of one name are one module, in order; all of them
 * compile, and those that say what they print (lines of `// → …`) print just that.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '..');
const SNIPPET = /^```ts (\S+\.ts)\n([\s\S]*?)^```$/gm;
const PRINTED = /^ *\/\/ → (.*)$/gm;
const TIMEOUT_MS = 300_000;
const run = promisify(execFile);

interface Module {
  readonly doc: string;
  readonly name: string;
  readonly text: string;
}

async function modulesIn(doc: string): Promise<readonly Module[]> {
  const blocks = [...(await readFile(path.join(ROOT, 'docs', doc), 'utf8')).matchAll(SNIPPET)];
  const names = [...new Set(blocks.map(([, name]) => name!))];
  return names.map((name) => ({
    doc,
    name,
    text: blocks.flatMap(([, of, text]) => (of === name ? [text!] : [])).join('\n'),
  }));
}

const docs = (await readdir(path.join(ROOT, 'docs'))).filter((name) => name.endsWith('.md')).sort();
const modules = (await Promise.all(docs.map(modulesIn))).flat();

let folder: string;
const fileOf = ({ doc, name }: Module): string => path.join(folder, path.basename(doc, '.md'), name);
beforeAll(async () => {
  // Inside the repository, where its packages are found.
  await mkdir(path.join(ROOT, '.cache'), { recursive: true });
  folder = await mkdtemp(path.join(ROOT, '.cache/docs-'));
  for (const module of modules) {
    await mkdir(path.dirname(fileOf(module)), { recursive: true });
    await writeFile(fileOf(module), module.text);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('snippets of docs', () => {
  it('are found', () => {
    expect(modules.length).toBeGreaterThan(0);
  });

  it('compile', { timeout: TIMEOUT_MS }, async () => {
    const config = { extends: '../../tsconfig.json', include: ['**/*.ts'], exclude: [] };
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
    const bin = path.join(ROOT, 'node_modules/typescript/bin/tsc');
    const said = await run(process.execPath, [bin, '-p', folder, '--pretty', 'false'], { cwd: folder }).then(
      () => '',
      (error: Error & { readonly stdout?: string }) => error.stdout || String(error),
    );
    expect(said).toBe('');
  });

  const printing = modules.filter(({ text }) => text.search(PRINTED) >= 0);
  it.for(printing)('$doc $name prints what it says', { timeout: TIMEOUT_MS }, async (module) => {
    const { stdout } = await run(process.execPath, [fileOf(module)], { cwd: folder });
    const wanted = [...module.text.matchAll(PRINTED)].map(([, line]) => line!);
    expect(stdout.trimEnd().split('\n')).toEqual(wanted);
  });
});
