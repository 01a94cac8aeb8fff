import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DiscoverOptions, type Discovery, discover } from './discover.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'audit-discover-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text = 'x'): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function found(folder = root, options?: DiscoverOptions): Promise<Discovery> {
  const result = await discover(folder, options);
  if (!result.ok) throw new Error(result.reason);
  return result.discovery;
}
const paths = (discovery: Discovery) => discovery.files.map(({ path }) => path);

describe('which files', () => {
  it('takes the source extensions and nothing else', async () => {
    const source = ['a.cjs', 'a.cts', 'a.d.ts', 'a.js', 'a.jsx', 'a.mjs', 'a.mts', 'a.ts', 'a.tsx'];
    for (const name of [...source, 'a.json', 'a.css', 'a', '.js', 'README.md']) put(name);
    expect(paths(await found())).toEqual(source);
  });

  it('sorts by code point of the whole path, on any machine', async () => {
    // U+FF5E comes before U+1F600, though its UTF-16 unit is the greater one; upper case comes before lower.
    for (const name of ['b.js', 'B.js', 'a/z.js', 'a.js', '\u{1F600}.js', '\uFF5E.js', 'é.js']) put(name);
    expect(paths(await found())).toEqual(['B.js', 'a.js', 'a/z.js', 'b.js', 'é.js', '\uFF5E.js', '\u{1F600}.js']);
  });

  it('leaves out .git and node_modules at any depth, and folders it is told to', async () => {
    for (const name of ['.git/a.js', 'node_modules/b.js', 'x/node_modules/c.js', 'state/d.js', 'x/e.js']) put(name);
    expect(paths(await found(root, { skipFolders: ['state'] }))).toEqual(['x/e.js']);
  });

  it('reads node_modules when the root is one, or lies inside one', async () => {
    put('node_modules/p/index.js');
    put('node_modules/p/node_modules/q/index.js');
    expect(paths(await found(join(root, 'node_modules')))).toEqual(['p/index.js', 'p/node_modules/q/index.js']);
    expect(paths(await found(join(root, 'node_modules', 'p')))).toEqual(['index.js', 'node_modules/q/index.js']);
  });

  it('does not follow symbolic links, but takes a root that is one', async () => {
    put('real/a.js');
    symlinkSync(join(root, 'real'), join(root, 'loop'));
    symlinkSync(join(root, 'real/a.js'), join(root, 'b.js'));
    symlinkSync(root, join(root, 'real/up'));
    const tree = await found();
    expect(paths(tree)).toEqual(['real/a.js']);
    expect(tree.symlinks).toBe(3);
    expect(paths(await found(join(root, 'loop')))).toEqual(['a.js']);
  });
});

describe('what is left out is on record', () => {
  it('a file over the limit, with its size', async () => {
    put('big.js', 'x'.repeat(101));
    put('fits.js', 'x'.repeat(100));
    const tree = await found(root, { maxFileBytes: 100 });
    expect(tree.files).toEqual([{ path: 'fits.js', bytes: 100 }]);
    expect(tree.skipped).toEqual([{ path: 'big.js', reason: 'too-large', bytes: 101 }]);
  });

  it('files beyond the number of one audit', async () => {
    for (const name of ['c.js', 'a.js', 'b.js']) put(name);
    const tree = await found(root, { maxFiles: 2 });
    expect(paths(tree)).toEqual(['a.js', 'b.js']);
    expect(tree.filesCut).toBe(1);
  });

  it.skipIf(process.platform === 'win32')('a pipe that is named like a source file', async () => {
    execFileSync('mkfifo', [join(root, 'pipe.js')]);
    expect((await found()).skipped).toEqual([{ path: 'pipe.js', reason: 'not-a-regular-file' }]);
  });
});

describe('a root that cannot be audited', () => {
  it('is refused with the reason, not thrown', async () => {
    put('file.js');
    expect(await discover(join(root, 'absent'))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('ENOENT'),
    });
    expect(await discover(join(root, 'file.js'))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('not a folder'),
    });
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
