import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Discovery, discoverPage, joinPages, openRoot, type Page, type PageOptions, survey } from './discover.ts';
import { MAX_PACKAGE_FACTS_BYTES, MAX_PAGE_BYTES } from './limits.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'audit-discover-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text = 'x'): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function pagesOf(folder: string, options: PageOptions): Promise<Page[]> {
  const opened = await openRoot(folder);
  if (!opened.ok) throw new Error(opened.reason);
  const pages: Page[] = [];
  let after: string | null = null;
  let found = 0;
  do {
    const page: Page = await discoverPage(opened.path, after, { ...options, found });
    pages.push(page);
    found += page.files.length;
    after = page.next;
  } while (after !== null);
  return pages;
}

/** All that a walk by pages finds. */
async function found(folder = root, options: PageOptions = {}): Promise<Discovery & { files: string[] }> {
  const pages = await pagesOf(folder, options);
  const discovery = joinPages(
    'tree',
    pages.map((page) => page.facts),
  );
  return { ...discovery, files: pages.flatMap((page) => page.files) };
}
const paths = async (folder?: string, options?: PageOptions) => (await found(folder, options)).files;

describe('which files', () => {
  it('takes the source extensions and nothing else', async () => {
    const source = ['a.cjs', 'a.cts', 'a.d.ts', 'a.js', 'a.jsx', 'a.mjs', 'a.mts', 'a.ts', 'a.tsx'];
    for (const name of [...source, 'a.json', 'a.css', 'a', '.js', 'README.md']) put(name);
    expect(await paths()).toEqual(source);
  });

  it('sorts by code point of the whole path, on any machine', async () => {
    // U+FF5E comes before U+1F600, though its UTF-16 unit is the greater one; upper case comes before lower.
    for (const name of ['b.js', 'B.js', 'a/z.js', 'a.js', 'a0.js', '\u{1F600}.js', '\uFF5E.js', 'é.js']) put(name);
    const sorted = ['B.js', 'a.js', 'a/z.js', 'a0.js', 'b.js', 'é.js', '\uFF5E.js', '\u{1F600}.js'];
    expect(await paths()).toEqual(sorted);
  });

  it('leaves out .git, node_modules and build output at any depth, and folders it is told to', async () => {
    for (const name of ['.git/a.js', 'node_modules/b.js', 'x/node_modules/c.js', 'state/d.js', 'x/state/e.js'])
      put(name);
    for (const name of ['dist/f.js', 'x/dist/g.js', 'x/dist/h/i.ts']) put(name);
    expect(await paths(root, { skipPaths: ['state'] })).toEqual(['x/state/e.js']);
  });

  it('reads node_modules when the root is one, or lies inside one', async () => {
    put('node_modules/p/index.js');
    put('node_modules/p/node_modules/q/index.js');
    expect(await paths(join(root, 'node_modules'))).toEqual(['p/index.js', 'p/node_modules/q/index.js']);
    expect(await paths(join(root, 'node_modules', 'p'))).toEqual(['index.js', 'node_modules/q/index.js']);
  });

  it('reads the build output of packages in node_modules, and a root that is build output', async () => {
    for (const name of ['node_modules/p/dist/index.js', 'x/dist/a.js', 'x/dist/y/dist/b.js']) put(name);
    expect(await paths(join(root, 'node_modules', 'p'))).toEqual(['dist/index.js']);
    expect(await paths(join(root, 'x', 'dist'))).toEqual(['a.js', 'y/dist/b.js']);
  });

  it('does not follow symbolic links, but takes a root that is one', async () => {
    put('real/a.js');
    symlinkSync(join(root, 'real'), join(root, 'loop'));
    symlinkSync(join(root, 'real/a.js'), join(root, 'b.js'));
    symlinkSync(root, join(root, 'real/up'));
    const tree = await found();
    expect(tree.files).toEqual(['real/a.js']);
    expect(tree.symlinks).toBe(3);
    expect(await paths(join(root, 'loop'))).toEqual(['a.js']);
  });
});

describe('pages', () => {
  const deep = ['a.js', 'a/b.js', 'a/b/c.js', 'a/b/c/d.js', 'a/b/e.js', 'a/f.js', 'a0/g.js', 'b/h.js', 'z.js'];

  it.each([1, 2, 3, 4, 100])('of %i files hold each entry once, in order', async (maxPageFiles) => {
    for (const path of deep) put(path);
    for (const folder of ['a', 'a/b', 'b']) {
      put(`${folder}/package.json`, `{ "name": "${folder}" }`);
      symlinkSync(root, join(root, folder, 'link'));
    }
    const pages = await pagesOf(root, { maxPageFiles });
    expect(pages.flatMap((page) => page.files)).toEqual(deep);
    expect(pages.every((page) => page.files.length <= maxPageFiles)).toBe(true);
    expect(await found(root, { maxPageFiles })).toEqual(await found());
    expect((await found()).packages.map(({ folder }) => folder)).toEqual(['a', 'a/b', 'b']);
    expect((await found()).symlinks).toBe(3);
  });

  it('go on behind a place that is gone by then', async () => {
    for (const path of deep) put(path);
    const first = await discoverPage(root, null, { maxPageFiles: 4 });
    expect(first.files).toEqual(deep.slice(0, 4));
    rmSync(join(root, 'a/b'), { recursive: true });
    expect((await discoverPage(root, first.next)).files).toEqual(['a/f.js', 'a0/g.js', 'b/h.js', 'z.js']);
  });

  it('end at their size in bytes, whatever the files are', async () => {
    const folder = 'long-name'.repeat(20);
    const count = Math.ceil(MAX_PAGE_BYTES / folder.length);
    for (let i = 0; i < count; i++) put(`${folder}/${String(i).padStart(6, '0')}.js`);
    const pages = await pagesOf(root, { maxPageFiles: 1_000_000 });
    expect(pages).toHaveLength(2);
    expect(pages.flatMap((page) => page.files)).toHaveLength(count);
  });

  it('say what lies beside a manifest of the page before', async () => {
    put('p/a.js');
    put('p/package.json', '{ "name": "p", "main": "./a.js" }');
    put('p/q.js');
    put('p/tsconfig.json', '{ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }');
    expect((await found(root, { maxPageFiles: 1 })).packages).toEqual([
      { folder: 'p', name: 'p', main: ['./a.js'], entries: ['p/a.js'], paths: { '~/*': ['p/src/*'] } },
    ]);
  });
});

describe('what is left out is on record', () => {
  it('a file over the limit, with its size', async () => {
    put('big.js', 'x'.repeat(101));
    put('fits.js', 'x'.repeat(100));
    const tree = await found(root, { maxFileBytes: 100 });
    expect(tree.files).toEqual(['fits.js']);
    expect(tree.skipped).toEqual([{ path: 'big.js', reason: 'too-large', bytes: 101 }]);
  });

  it('a manifest that says too much', async () => {
    const main = 'x'.repeat(MAX_PACKAGE_FACTS_BYTES);
    put('package.json', JSON.stringify({ main }));
    const tree = await found();
    expect(tree.packages).toEqual([]);
    expect(tree.skipped).toMatchObject([{ path: 'package.json', reason: 'too-large' }]);
  });

  it.each([1, 2, 100])('files beyond the number of one audit, by pages of %i', async (maxPageFiles) => {
    for (const name of ['c.js', 'd/d.js', 'a.js', 'b.js']) put(name);
    const tree = await found(root, { maxFiles: 2, maxPageFiles });
    expect(tree.files).toEqual(['a.js', 'b.js']);
    expect(tree.filesCut).toBe(2);
  });

  it.skipIf(process.platform === 'win32')('a pipe that is named like a source file', async () => {
    execFileSync('mkfifo', [join(root, 'pipe.js')]);
    expect((await found()).skipped).toEqual([{ path: 'pipe.js', reason: 'not-a-regular-file' }]);
  });
});

describe('a root that cannot be audited', () => {
  it('is refused with the reason, not thrown', async () => {
    put('file.js');
    expect(await openRoot(join(root, 'absent'))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('ENOENT'),
    });
    expect(await openRoot(join(root, 'file.js'))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('not a folder'),
    });
  });

  it('fails a page, so that an absent tree never looks like an empty one', async () => {
    await expect(discoverPage(join(root, 'absent'), null)).rejects.toThrow('ENOENT');
  });
});

describe('packages', () => {
  it('reads names, entry points and path mappings; a broken manifest is as good as none', async () => {
    put(
      'package.json',
      '{ "name": "p", "bin": { "p": "./cli.js" }, "exports": { "./x/*": { "import": "./lib/*.js" } } }',
    );
    put('tsconfig.json', '{ "compilerOptions": { /* here */ "paths": { "~/*": ["./src/*"], }, } }');
    put('broken/package.json', '{ "name": ');
    put('list/package.json', '[]');
    expect((await found()).packages).toEqual([
      {
        folder: '.',
        name: 'p',
        entries: ['cli.js', 'lib/*.js'],
        exports: { './x/*': ['./lib/*.js'] },
        paths: { '~/*': ['src/*'] },
      },
    ]);
  });
});

describe('survey', () => {
  it('counts the files, and its digest changes with paths, sizes and times alone', async () => {
    for (const path of ['a.ts', 'b/c.ts', 'notes.md', 'package.json']) put(path);
    const first = await survey(root);
    expect(first.files).toBe(2);
    put('notes.md', 'changed');
    expect(await survey(root)).toEqual(first);
    const changes = [
      () => put('d.ts'),
      () => put('a.ts', 'longer'),
      () => utimesSync(join(root, 'b/c.ts'), 1, 1),
      () => put('package.json', '{}'),
      () => rmSync(join(root, 'd.ts')),
    ];
    const digests = new Set([first.digest]);
    for (const change of changes) {
      change();
      digests.add((await survey(root)).digest);
    }
    expect(digests.size).toBe(changes.length + 1);
  });
});
