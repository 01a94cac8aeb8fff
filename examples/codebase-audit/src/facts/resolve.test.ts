import { describe, expect, it } from 'vitest';
import type { PackageFacts } from '../packages.ts';
import { matchPattern, Resolver } from './resolve.ts';

function resolver(paths: string[], packages: PackageFacts[] = []): (from: string, specifier: string) => string {
  const made = new Resolver(paths, packages);
  return (from, specifier) => {
    const found = made.resolve(from, specifier);
    if (found.kind === 'file') return found.path;
    if (found.kind === 'folder') return found.paths.join(' ');
    return found.kind === 'missing' ? 'missing' : `${found.kind} ${found.name}`;
  };
}

describe('relative specifiers', () => {
  const resolve = resolver([
    ...[
      'a.ts',
      'b.tsx',
      'c.js',
      'c.d.ts',
      'd.mts',
      'e.cts',
      'f/index.js',
      'f/g.jsx',
      'h.ts',
      'h/index.ts',
      'index.ts',
      'j.test.ts',
    ],
  ]);
  it.each([
    ['./a.ts', 'a.ts'],
    ['./a', 'a.ts'],
    ['./a.js', 'a.ts'],
    ['./b.js', 'b.tsx'],
    ['./b.jsx', 'b.tsx'],
    ['./c.js', 'c.js'],
    ['./d.mjs', 'd.mts'],
    ['./e.cjs', 'e.cts'],
    ['./f', 'f/index.js'],
    ['./f/', 'f/index.js'],
    ['./f/g', 'f/g.jsx'],
    ['./h', 'h.ts'],
    ['./h/', 'h.ts'],
    ['./j.test', 'j.test.ts'],
    ['./a.ts?raw', 'a.ts'],
    ['.', 'index.ts'],
    ['./', 'index.ts'],
    ['./style.css', 'missing'],
    ['../outside', 'missing'],
    ['./f/*', 'f/g.jsx f/index.js'],
  ])('%s from the root is %s', (specifier, expected) => expect(resolve('x.ts', specifier)).toBe(expected));

  it('from a folder', () => {
    expect(resolve('f/g.jsx', '../a')).toBe('a.ts');
    expect(resolve('f/g.jsx', '..')).toBe('index.ts');
    expect(resolve('f/g.jsx', '.')).toBe('f/index.js');
  });

  it('a declaration sees declarations first', () => {
    expect(resolve('types.d.ts', './c.js')).toBe('c.d.ts');
    expect(resolve('code.ts', './c.js')).toBe('c.js');
  });
});

describe('packages', () => {
  const packages: PackageFacts[] = [
    {
      folder: '.',
      name: 'root',
      entries: [],
      imports: { '#deep/*': ['./src/deep/*.js'] },
      paths: { '@/*': ['src/*'] },
    },
    {
      folder: 'libs/a',
      name: '@s/a',
      entries: [],
      exports: { '.': ['./dist/index.d.ts', './dist/index.js'], './x/*': ['./src/x/*.ts'] },
    },
    { folder: 'libs/b', name: 'b', entries: [], main: ['lib/main.js'] },
    { folder: 'libs/plain', name: 'plain', entries: [] },
    { folder: 'libs/b/node_modules/plain', name: 'plain', entries: [] },
  ];
  const resolve = resolver(
    [
      ...[
        'libs/a/src/index.ts',
        'libs/a/src/x/one.ts',
        'libs/b/src/main.ts',
        'libs/plain/index.js',
        'libs/plain/sub.js',
      ],
      ...['libs/b/node_modules/plain/index.js', 'src/deep/one.ts', 'src/util.ts'],
    ],
    packages,
  );
  it.each([
    ['@s/a', 'libs/a/src/index.ts'],
    ['@s/a/x/one', 'libs/a/src/x/one.ts'],
    ['b', 'libs/b/src/main.ts'],
    ['plain', 'libs/plain/index.js'],
    ['plain/sub', 'libs/plain/sub.js'],
    ['plain/absent', 'missing'],
    ['#deep/one', 'src/deep/one.ts'],
    ['#other', 'missing'],
    ['@/util', 'src/util.ts'],
    ['@/util.js', 'src/util.ts'],
    ['@s/other/path', 'external @s/other'],
    ['lodash/get', 'external lodash'],
    ['node:fs', 'builtin fs'],
    ['fs/promises', 'builtin fs/promises'],
  ])('%s is %s', (specifier, expected) => expect(resolve('src/main.ts', specifier)).toBe(expected));

  it('the nearest node_modules wins over another package of that name', () => {
    expect(resolve('libs/b/src/main.ts', 'plain')).toBe('libs/b/node_modules/plain/index.js');
  });

  it('does not depend on the order of files or packages', () => {
    const paths = ['p/index.js', 'q/index.js'];
    const same: PackageFacts[] = [
      { folder: 'q', name: 'x', entries: [] },
      { folder: 'p', name: 'x', entries: [] },
    ];
    expect(resolver(paths, same)('m.js', 'x')).toBe('p/index.js');
    expect(resolver([...paths].reverse(), [...same].reverse())('m.js', 'x')).toBe('p/index.js');
  });
});

describe('matchPattern', () => {
  it('prefers the exact key, then the longest beginning', () => {
    const map = { '*': ['any/*'], 'a/*': ['a/*'], 'a/b/*': ['b/*'], 'a/b/c': ['c'] };
    expect(matchPattern(map, 'a/b/c')).toEqual(['c']);
    expect(matchPattern(map, 'a/b/d')).toEqual(['b/d']);
    expect(matchPattern(map, 'a/$&')).toEqual(['a/$&']);
    expect(matchPattern(map, 'z')).toEqual(['any/z']);
    expect(matchPattern({ a: ['a'] }, 'toString')).toBeUndefined();
  });
});
