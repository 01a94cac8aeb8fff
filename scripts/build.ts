/**
 * Owns `npm run build`: the publishable packages in dist/packages, packed in dist/tarballs (decision 0036). Development needs none of it:
 * there, everything runs from source.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageName } from './boundaries/imports.ts';
import { compile, namedInTypes, place } from './build/emit.ts';
import { type BuiltManifest, builtManifest, type RootManifest } from './build/manifest.ts';
import { CONSOLE_FOLDER, type Published, readPublished } from './build/published.ts';
import { reachOf } from './build/reach.ts';
import { readmeOf } from './build/readme.ts';
import { writeClientTypes } from './client-types.ts';
import { buildConsole, isConsoleStale } from './console.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** What the README's quick start installs. */
const STARTED_WITH = ['@tidemark/sdk', 'tidemark'];

interface Built {
  readonly name: string;
  readonly folder: string;
  /** Names of the packages that are installed with it. */
  readonly needs: readonly string[];
}

/** Builds all packages of the repository at `root` into `out`. Throws when one of them would not work where it is installed. */
export function buildPackages(root: string, out: string): readonly Built[] {
  rmSync(out, { recursive: true, force: true });
  writeClientTypes();
  const siblings = readPublished(root);
  const all = new Map(siblings.map((published) => [published, reachOf(root, published)]));
  const emitted = path.join(out, 'emitted');
  compile(root, emitted, all);
  if (isConsoleStale()) buildConsole();
  const own = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as RootManifest;
  const built = [...all].map(([published, reached]) => {
    const folder = path.join(out, 'packages', published.name);
    const manifest = builtManifest(published, { reached, siblings, root: own });
    place(root, emitted, folder, published, reached);
    if (published.folder === CONSOLE_FOLDER) placeConsole(root, folder);
    checkTypes(published, manifest, folder);
    const home = own.repository.url.replace(/^git\+|\.git$/g, '');
    writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    writeFileSync(path.join(folder, 'README.md'), readmeOf(manifest, home));
    cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
    return { name: published.name, folder, needs: Object.keys(manifest.dependencies) };
  });
  rmSync(emitted, { recursive: true, force: true });
  return built;
}

function placeConsole(root: string, to: string): void {
  const skipped = path.join(root, CONSOLE_FOLDER, 'dist/.built');
  cpSync(path.join(root, CONSOLE_FOLDER, 'dist'), path.join(to, 'dist'), {
    recursive: true,
    filter: (from) => from !== skipped,
  });
}

/** An inferred type may name a package which no source imports; users' compilers would then not find it. */
function checkTypes({ folder }: Published, manifest: BuiltManifest, built: string): void {
  const declared = new Set([manifest.name, ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })]);
  const files = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'));
  for (const file of files.filter((name) => name.startsWith('dist'))) {
    for (const specifier of namedInTypes(path.join(built, file))) {
      const name = packageName(specifier);
      if (specifier.startsWith('.') || isBuiltin(specifier) || declared.has(name)) continue;
      throw new Error(`${folder}: the types in ${file} name ${name}, which its package.json doesn't: declare it there`);
    }
  }
}

/** Packs what the quick start needs into a folder, and the rest into its subfolder `more`. */
export function packAll(built: readonly Built[], to: string): void {
  rmSync(to, { recursive: true, force: true });
  const started = new Set(STARTED_WITH);
  for (const name of started)
    for (const need of built.find((each) => each.name === name)?.needs ?? []) started.add(need);
  const foldersOf = (isStarted: boolean): string[] =>
    built.filter(({ name }) => started.has(name) === isStarted).map(({ folder }) => folder);
  pack(foldersOf(true), to);
  pack(foldersOf(false), path.join(to, 'more'));
}

/** One `npm pack` for all; resolves nothing and queries no registry. */
function pack(folders: readonly string[], to: string): void {
  mkdirSync(to, { recursive: true });
  const args = ['pack', '--silent', '--pack-destination', to, ...folders];
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' });
  if (status !== 0) throw new Error(`npm pack failed:\n${stdout}${stderr}`);
}

if (import.meta.main) {
  const startedAt = performance.now();
  const out = path.join(ROOT, 'dist');
  const built = buildPackages(ROOT, out);
  packAll(built, path.join(out, 'tarballs'));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`build: ${built.length} packages in dist/packages, packed in dist/tarballs, in ${seconds} s.`);
}
