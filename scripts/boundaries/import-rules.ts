/**
 * Owns the rules about imports: their direction, the entry points of packages, what a manifest must declare, what core and ports may
 * import, who may see the testkit. Must read no files.
 */
import path from 'node:path';
import { importsOf, packageName } from './imports.ts';
import { bundledFolder, forbidden, interfacesFolder, layerOf, pureFolder, testkitFolder } from './layers.ts';
import type { PackageInfo, SourceFile, Tree } from './tree.ts';
import type { Violation } from './violation.ts';

export function checkImports(tree: Tree, file: SourceFile): Violation[] {
  return importsOf(file).flatMap((found) => {
    const at = { file: file.file, line: found.line };
    const message = found.specifier.startsWith('.')
      ? checkRelative(file, found.specifier)
      : checkPackage(tree, file, found.specifier);
    return message === undefined ? [] : [{ ...at, ...message }];
  });
}

/** Declarations in manifests must keep to the layers too, even before a source file uses them. */
export function checkManifest(tree: Tree, info: PackageInfo): Violation[] {
  const at = { file: `${info.folder}/package.json`, line: 1 };
  if (layerOf(info.folder) === undefined && info.folder !== testkitFolder) {
    const text = `${info.folder} is in no layer: say in scripts/boundaries/layers.ts where it belongs`;
    return [{ ...at, rule: 'unknown-layer', message: text }];
  }
  return [...info.dependencies].flatMap((name) => {
    const other = tree.byName.get(name);
    const why = other === undefined ? undefined : refusal(info, other);
    return why === undefined ? [] : [{ ...at, ...why }];
  });
}

type Finding = Pick<Violation, 'rule' | 'message'>;

function refusal(from: PackageInfo, to: PackageInfo): Finding | undefined {
  if (to.folder === testkitFolder && from.folder !== testkitFolder) {
    return { rule: 'testkit-in-product', message: `${from.folder} may import ${to.name} in its tests only` };
  }
  const message = forbidden(from.folder, to.folder);
  return message === undefined ? undefined : { rule: 'direction', message };
}

function checkRelative(file: SourceFile, specifier: string): Finding | undefined {
  const target = path.posix.join(path.posix.dirname(file.file), specifier);
  if (/-fixture\.ts$/.test(target) && !file.isTest && file.owner.folder !== testkitFolder) {
    return { rule: 'testkit-in-product', message: `${specifier} is for tests alone` };
  }
  const inside = file.owner.folder === '' ? !/^(libs|services|examples)\//.test(target) : isWithin(target, file);
  if (inside) return undefined;
  return { rule: 'door', message: `${specifier} reaches into another package: import it by its name` };
}

function isWithin(target: string, file: SourceFile): boolean {
  return target.startsWith(`${file.owner.folder}/`);
}

function checkPackage(tree: Tree, file: SourceFile, specifier: string): Finding | undefined {
  const owner = file.owner;
  if (specifier.startsWith('node:') || specifier.startsWith('bun:')) return checkPurity(file, specifier, undefined);
  const name = packageName(specifier);
  const other = tree.byName.get(name);
  if (other !== undefined) {
    const door = `.${specifier.slice(name.length)}`;
    if (!hasDoor(other, door)) return { rule: 'door', message: `${name} does not export ${door}` };
  }
  if (file.isTest || owner.folder === '') return checkDeclaredForTests(tree, file, name);
  const impure = checkPurity(file, specifier, other);
  if (impure !== undefined) return impure;
  const refused = other === undefined ? undefined : refusal(owner, other);
  return refused ?? checkDeclared(tree, file, name);
}

/** An entry point may be a pattern, as `exports` allows: `./contracts/*`. */
function hasDoor(info: PackageInfo, door: string): boolean {
  return [...info.doors.keys()].some((key) => {
    const [before = '', after] = key.split('*');
    return after === undefined ? key === door : door.startsWith(before) && door.endsWith(after);
  });
}

function checkPurity(file: SourceFile, specifier: string, other: PackageInfo | undefined): Finding | undefined {
  if (file.isTest) return undefined;
  const { folder } = file.owner;
  if (folder === pureFolder && other?.folder !== pureFolder) {
    return { rule: 'core-imports', message: `core imports nothing, but here ${specifier}` };
  }
  if (folder === interfacesFolder && other?.folder !== pureFolder) {
    return { rule: 'ports-imports', message: `ports import core alone, but here ${specifier}` };
  }
  return undefined;
}

function checkDeclared(tree: Tree, file: SourceFile, name: string): Finding | undefined {
  const { owner } = file;
  if (name === owner.name || owner.dependencies.has(name)) return undefined;
  if (owner.folder === bundledFolder && owner.devDependencies.has(name)) return undefined;
  // The testkit's suites run inside the project's own test runner.
  if (owner.folder === testkitFolder && tree.root.devDependencies.has(name)) return undefined;
  return { rule: 'undeclared', message: `${name} is not among the dependencies of ${owner.folder}/package.json` };
}

/** Tests, scripts and the bench are never published: they may use whatever any package of the tree declares. */
function checkDeclaredForTests(tree: Tree, file: SourceFile, name: string): Finding | undefined {
  if (tree.byName.has(name) || tree.root.devDependencies.has(name) || tree.root.dependencies.has(name))
    return undefined;
  const declaring = file.owner.folder === '' ? tree.packages : [file.owner];
  if (declaring.some((info) => info.dependencies.has(name) || info.devDependencies.has(name))) return undefined;
  return { rule: 'undeclared', message: `no package.json of the project declares ${name}` };
}
