/**
 * Owns the package.json of a published package, derived from the one in the repository: entry points to built files, exact versions of its
 * siblings, nothing for development alone. Pure.
 */
import type { Published, SourceManifest } from './published.ts';
import type { Reached } from './reach.ts';

export interface RootManifest {
  readonly repository: { readonly type: string; readonly url: string };
}

type Target = string | { readonly types: string; readonly default: string };

export interface BuiltManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly repository: { readonly type: string; readonly url: string; readonly directory: string };
  readonly type: 'module';
  readonly engines: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Target>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: SourceManifest['peerDependenciesMeta'];
  readonly publishConfig: { readonly access: 'public'; readonly provenance: true };
}

/** `./src/x.ts` → `./dist/x.js`; other file types keep their ending, files outside of the source their place. */
export const builtPath = (file: string): string => file.replace(/^(\.\/)?src\//, '$1dist/').replace(/\.ts$/, '.js');

export function builtManifest(
  published: Published,
  { reached, siblings, root }: { reached: Reached; siblings: readonly Published[]; root: RootManifest },
): BuiltManifest {
  const { manifest, name, folder, bins } = published;
  const { peerDependencies, peerDependenciesMeta } = manifest;
  return {
    name,
    version: manifest.version,
    description: manifest.description,
    license: manifest.license,
    repository: { ...root.repository, directory: folder },
    type: 'module',
    engines: manifest.engines,
    ...(Object.keys(bins).length > 0 && { bin: mapValues(bins, (file) => builtPath(file).replace(/^\.\//, '')) }),
    exports: { ...mapValues(published.doors, target), './package.json': './package.json' },
    // Maps point to the sources; no entry point leads to them.
    files: ['dist', ...['src', 'bin'].filter((part) => reached.files.some((file) => file.startsWith(`${part}/`)))],
    dependencies: dependenciesOf(published, reached, siblings),
    ...(peerDependencies !== undefined && { peerDependencies: exactly(peerDependencies, siblings) }),
    ...(peerDependenciesMeta !== undefined && { peerDependenciesMeta }),
    publishConfig: { access: 'public', provenance: true },
  };
}

const target = (file: string): Target =>
  file.endsWith('.ts')
    ? { types: builtPath(file).replace(/\.js$/, '.d.ts'), default: builtPath(file) }
    : builtPath(file);

/** Exact versions of siblings: they are released together, and tested in no other combination. */
function dependenciesOf({ manifest, doors }: Published, reached: Reached, siblings: readonly Published[]) {
  const all = Object.entries(manifest.dependencies ?? {});
  // A package of which only some entry points are published doesn't need what the others import.
  const narrowed = Object.keys(doors).length < Object.keys(manifest.exports ?? {}).length;
  const needed = all.filter(([name]) => !narrowed || reached.packages.has(name));
  return exactly(Object.fromEntries(needed), siblings);
}

const exactly = (ranges: Readonly<Record<string, string>>, siblings: readonly Published[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(ranges).map(([name, range]) => {
      const sibling = siblings.find((other) => other.manifest.name === name);
      return sibling === undefined ? [name, range] : [sibling.name, sibling.manifest.version];
    }),
  );

const mapValues = <T>(record: Readonly<Record<string, string>>, change: (value: string) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
