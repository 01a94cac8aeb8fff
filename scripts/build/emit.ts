/**
 * Owns turning the reached sources of all packages into JavaScript, types and maps: one run of the compiler, then each file goes where its
 * package has it. It also does what the compiler leaves: `.ts` in the types' imports, in `new URL`, and the paths in maps.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { importsOf } from '../boundaries/imports.ts';
import { builtPath } from './manifest.ts';
import type { Published } from './published.ts';
import { NAMED_MODULE, type Reached } from './reach.ts';

/** An inline type from another package: `import("@tidemark/core").Json`. */
const INFERRED = /\bimport\(\s*['"]([^'"\s]+)['"]/g;
const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])([^'"\n]+)\2/g;

/** Compiles into `out/<folder>/src`. Throws with the compiler's messages. */
export function compile(root: string, out: string, all: ReadonlyMap<Published, Reached>): void {
  const files = [...all].flatMap(([{ folder }, { files }]) =>
    files.filter((file) => file.endsWith('.ts')).map((file) => path.join(root, folder, file)),
  );
  const config = {
    extends: path.join(root, 'tsconfig.json'),
    compilerOptions: {
      ...{ noEmit: false, rootDir: root, outDir: out },
      ...{ declaration: true, declarationMap: true, sourceMap: true, rewriteRelativeImportExtensions: true },
    },
    ...{ include: [], exclude: [], files },
  };
  mkdirSync(out, { recursive: true });
  const file = path.join(out, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(config));
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', file, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the sources can't be compiled:\n${stdout}${stderr}`);
}

/** Puts one package's files into `to`: `dist`, the `src` that its maps lead to, and whatever else its manifest names. */
export function place(root: string, out: string, to: string, { folder }: Published, { files }: Reached): void {
  rmSync(to, { recursive: true, force: true });
  for (const file of files) {
    const source = path.join(root, folder, file);
    if (file.startsWith('src/')) copy(source, path.join(to, file));
    if (!file.endsWith('.ts')) {
      const text = readFileSync(source, 'utf8');
      write(path.join(to, builtPath(file)), file.endsWith('.js') ? pointed(text) : text);
      continue;
    }
    const made = path.join(out, folder, file.replace(/\.ts$/, ''));
    const target = path.join(to, builtPath(file).replace(/\.js$/, ''));
    write(`${target}.js`, named(readFileSync(`${made}.js`, 'utf8'), file));
    write(`${target}.d.ts`, typed(readFileSync(`${made}.d.ts`, 'utf8')));
    for (const kind of ['js', 'd.ts']) {
      const map = JSON.parse(readFileSync(`${made}.${kind}.map`, 'utf8')) as object;
      const lead = path
        .relative(path.dirname(`${target}.js`), path.join(to, file))
        .split(path.sep)
        .join('/');
      write(`${target}.${kind}.map`, JSON.stringify({ ...map, sourceRoot: '', sources: [lead] }));
    }
  }
}

/** Packages that built types name, including inferred ones that no source of the package imports. */
export function namedInTypes(file: string): string[] {
  const source = readFileSync(file, 'utf8');
  const imported = importsOf({ source, parsed: parseSync(file, source) }).map(({ specifier }) => specifier);
  return [...imported, ...[...source.matchAll(INFERRED)].map(([, specifier]) => specifier!)];
}

/** Keeps the length, so that maps stay right. */
function named(text: string, file: string): string {
  const done = text.replaceAll(NAMED_MODULE, '$1$3.js$4');
  const left = /(['"`])\.{1,2}\/[^'"`]*\.ts\1/.exec(done);
  if (left === null) return done;
  throw new Error(
    `${file} names ${left[0]}, which no package has: import it, or say new URL('./x.ts', import.meta.url)`,
  );
}

/** Types import types: TypeScript finds `x.d.ts` by `x.js`. */
const typed = (text: string): string =>
  text.replaceAll(SPECIFIER, (whole, before: string, quote: string, specifier: string) =>
    /^\.{1,2}\/.*\.ts$/.test(specifier) ? `${before}${quote}${specifier.replace(/\.ts$/, '.js')}${quote}` : whole,
  );

/** A command that is JavaScript already uses built files. */
const pointed = (text: string): string =>
  text.replaceAll(
    /(['"])\.\.\/src\/([^'"]+)\.ts\1/g,
    (_, quote: string, file: string) => `${quote}../dist/${file}.js${quote}`,
  );

function copy(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
