/**
 * The TypeScript of the documentation is true. Every fence says what it is: either part of a module that the page is the source of
 * (```ts models.ts): those of one name are one module, in order; or lines of a file of the project (```ts examples/patterns/src/loop.ts),
 * which is compiled and tested where it lies: the fence has them as they stand there, `// …` for what it leaves out. All modules compile,
 * and those that say what they print (lines of `// → …`) print just that.
 */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referencePages } from '../scripts/reference.ts';
import { type Fence, MADE, type Page, pageOf, pages, ROOT } from './docs/markdown.ts';

const CODE = new Set(['ts', 'tsx', 'js', 'mjs', 'typescript', 'javascript']);
const PRINTED = /^ *\/\/ → (.*)$/gm;
const LEFT_OUT = /^\s*\/\/ …$/;
const TIMEOUT_MS = 300_000;
const run = promisify(execFile);

interface Module {
  readonly page: string;
  readonly name: string;
  readonly text: string;
}

const made = await referencePages();
const all = [...pages(), ...[...made].map(([file, text]) => pageOf(file, text))];
/** What is made from declarations is those declarations. */
const codeOf = ({ file, fences }: Page): readonly Fence[] =>
  fences.filter(({ info: [lang, name] }) => CODE.has(lang ?? '') && !(made.has(file) && name === 'declaration'));
const nameOf = ({ info }: Fence): string => info[1] ?? '';
const isExcerpt = (fence: Fence): boolean => nameOf(fence).includes('/');

const modules: readonly Module[] = all.flatMap((page) => {
  const own = codeOf(page).filter((fence) => /^[\w.-]+\.ts$/.test(nameOf(fence)));
  return [...new Set(own.map(nameOf))].map((name) => ({
    ...{ page: page.file, name },
    text: own.flatMap((fence) => (nameOf(fence) === name ? [fence.text] : [])).join('\n'),
  }));
});

/** Where, from line `from` on, the file has these lines one after the other, all further in by the same; -1: nowhere. */
function placeOf(lines: readonly string[], file: readonly string[], from: number): number {
  for (let at = from; at + lines.length <= file.length; at += 1) {
    const indent = file[at]!.slice(0, file[at]!.length - lines[0]!.length);
    if (indent.trim() !== '') continue;
    if (lines.every((line, i) => file[at + i] === (line === '' ? '' : indent + line))) return at;
  }
  return -1;
}

/** The first piece of the excerpt that the file doesn't have where it should; undefined: it has all. */
function strayOf(excerpt: string, source: string): string | undefined {
  const file = source.split('\n');
  const pieces = excerpt
    .trimEnd()
    .split('\n')
    .reduce<string[][]>(
      (done, line) => {
        if (LEFT_OUT.test(line)) done.push([]);
        else done.at(-1)!.push(line);
        return done;
      },
      [[]],
    )
    .map((lines) => lines.join('\n').replace(/^\n+|\n+$/g, ''))
    .filter((piece) => piece !== '');
  let from = 0;
  return pieces.find((piece) => {
    const lines = piece.split('\n');
    const at = placeOf(lines, file, from);
    from = at + lines.length;
    return at < 0;
  });
}

let folder: string;
const fileOf = ({ page, name }: Module): string =>
  path.join(folder, page.replace(/\.md$/, '').replaceAll('/', '-'), name);
beforeAll(async () => {
  // Inside the repository, where its packages are found.
  await mkdir(path.join(ROOT, '.tmp'), { recursive: true });
  folder = await mkdtemp(path.join(ROOT, '.tmp/docs-'));
  for (const module of modules) {
    await mkdir(path.dirname(fileOf(module)), { recursive: true });
    await writeFile(fileOf(module), module.text);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('code of docs', () => {
  it('says what it is, everywhere', () => {
    const unnamed = all.flatMap((page) =>
      codeOf(page)
        .filter((fence) => !/^[\w./-]+\.ts$/.test(nameOf(fence)))
        .map(({ line, info }) => `${page.file}:${line}: ${info.join(' ')}`),
    );
    expect(unnamed).toEqual([]);
  });

  it('that is of a file stands there as it does here', () => {
    const excerpts = all.flatMap((page) =>
      codeOf(page)
        .filter(isExcerpt)
        .map((fence) => ({ page: page.file, fence })),
    );
    expect(excerpts.length).toBeGreaterThan(10);
    const stray = excerpts.flatMap(({ page, fence }) => {
      const file = path.join(ROOT, nameOf(fence));
      const where = `${page}:${fence.line}: ${nameOf(fence)}`;
      if (!existsSync(file)) return [`${where}: there is no such file`];
      const piece = strayOf(fence.text, readFileSync(file, 'utf8'));
      return piece === undefined ? [] : [`${where} has not, in this order:\n${piece}`];
    });
    expect(stray).toEqual([]);
  });

  it('would be found to differ', () => {
    const source = 'a\n  b\n  c\n\n  d\n';
    expect(strayOf('b\nc\n// …\nd\n', source)).toBeUndefined();
    expect(strayOf('b\nd\n', source)).toBe('b\nd');
    expect(strayOf('d\n// …\nb\n', source)).toBe('b');
    expect(strayOf('b\n c\n', source)).toBe('b\n c');
  });
});

it('the reference has the pages that docs leave out', () => {
  expect([...made.keys()].sort()).toEqual(MADE.toSorted());
});

describe('modules of docs', () => {
  it('are found', () => {
    expect(modules.length).toBeGreaterThan(10);
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

  it('run', { timeout: TIMEOUT_MS }, async () => {
    // In one process: what they show is tested elsewhere, or needs a world of its own; here they are loaded, and end.
    const silent = modules.filter(({ text, name }) => text.search(PRINTED) < 0 && !name.endsWith('.check.ts'));
    const files = JSON.stringify(silent.map(fileOf));
    const program = `for (const file of ${files}) await import(file);`;
    await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder });
  });

  const printing = modules.filter(({ text }) => text.search(PRINTED) >= 0);
  it.for(printing)('$page $name prints what it says', { timeout: TIMEOUT_MS }, async (module) => {
    const { stdout } = await run(process.execPath, [fileOf(module)], { cwd: folder });
    const wanted = [...module.text.matchAll(PRINTED)].map(([, line]) => line!);
    expect(stdout.trimEnd().split('\n')).toEqual(wanted);
  });
});
