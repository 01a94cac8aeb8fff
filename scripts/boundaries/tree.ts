/** Owns reading a source tree for the boundary check: its packages (what they export and declare) and its source files, parsed. Must judge nothing. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type ParseResult, parseSync } from 'oxc-parser';
import { packageFolders } from '../workspaces.ts';

export interface PackageInfo {
  /** From the root, with forward slashes: `libs/model/core`. The root package itself has ''. */
  readonly folder: string;
  readonly name: string;
  /** What `import` takes after the name ('.', './servers'), and the file behind each, from the root. */
  readonly doors: ReadonlyMap<string, string>;
  readonly dependencies: ReadonlySet<string>;
  readonly devDependencies: ReadonlySet<string>;
}

export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly file: string;
  /** Its package; the root's for scripts/ and test/, except for workspaces of their own there. */
  readonly owner: PackageInfo;
  readonly isTest: boolean;
  readonly source: string;
  readonly parsed: ParseResult;
}

export interface Tree {
  readonly root: PackageInfo;
  readonly packages: readonly PackageInfo[];
  readonly byName: ReadonlyMap<string, PackageInfo>;
  readonly files: readonly SourceFile[];
}

const packageParents = ['libs', 'services', 'examples'];
const rootFolders = ['scripts', 'test'];
const skippedFolders = new Set(['node_modules', 'fixtures', 'dist']);

export function readTree(rootFolder: string): Tree {
  const root = readPackage(rootFolder, '');
  const packages = packageFolders(rootFolder, packageParents).map((folder) => readPackage(rootFolder, folder));
  const files = [
    ...packages.flatMap((owner) => readSources(rootFolder, owner.folder, owner)),
    ...rootFolders.flatMap((folder) => readSources(rootFolder, folder, root)),
  ];
  return { root, packages, byName: new Map(packages.map((info) => [info.name, info])), files };
}

interface Manifest {
  readonly name?: string;
  readonly exports?: string | Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function readPackage(rootFolder: string, folder: string): PackageInfo {
  const manifest = JSON.parse(readFileSync(path.join(rootFolder, folder, 'package.json'), 'utf8')) as Manifest;
  const exports = typeof manifest.exports === 'string' ? { '.': manifest.exports } : (manifest.exports ?? {});
  const doors = Object.entries(exports).map(([key, file]) => [key, path.posix.join(folder, file)] as const);
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = manifest;
  return {
    folder,
    name: manifest.name ?? '',
    doors: new Map(doors),
    dependencies: new Set(Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })),
    devDependencies: new Set(Object.keys(devDependencies ?? {})),
  };
}

function readSources(rootFolder: string, folder: string, owner: PackageInfo): SourceFile[] {
  const full = path.join(rootFolder, folder);
  if (!existsSync(full)) return [];
  return readdirSync(full, { withFileTypes: true })
    .sort((a, b) => a.name.localeCompare(b.name))
    .flatMap((entry) => {
      const inner = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (skippedFolders.has(entry.name)) return [];
        return readSources(rootFolder, inner, ownerOf(rootFolder, inner) ?? owner);
      }
      return /\.(ts|mts|tsx|mjs)$/.test(entry.name) ? [readSource(rootFolder, inner, owner)] : [];
    });
}

/** A folder of tests or scripts may be a workspace of its own, which the project doesn't install: it declares its imports itself. */
function ownerOf(rootFolder: string, folder: string): PackageInfo | undefined {
  return existsSync(path.join(rootFolder, folder, 'package.json')) ? readPackage(rootFolder, folder) : undefined;
}

function readSource(rootFolder: string, file: string, owner: PackageInfo): SourceFile {
  const source = readFileSync(path.join(rootFolder, file), 'utf8');
  const isTest = /(\.test(-d)?|-fixture)\.ts$/.test(file) || file.startsWith('test/');
  return { file, owner, isTest, source, parsed: parseSync(file, source) };
}
