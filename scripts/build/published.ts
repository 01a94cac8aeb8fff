/** Owns which packages of the repository are published, under which name and with which entry points (decision 0036). Must write nothing. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageFolders } from '../workspaces.ts';

/** The parts of a package.json in the repository that publishing needs. */
export interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface Published {
  /** From the root, with forward slashes: `libs/author/sdk`. */
  readonly folder: string;
  /** The name in the registry: the repository's, except for the command's. */
  readonly name: string;
  readonly manifest: SourceManifest;
  /** What `import` takes after the name, and the source file behind each, from the package's folder. */
  readonly doors: Readonly<Record<string, string>>;
  /** Commands, and the source file behind each, from the package's folder. */
  readonly bins: Readonly<Record<string, string>>;
}

const PARENTS = ['libs', 'services'];
/** `npx tidemark` looks for a package of this name; in the repository the root has it. */
const NAMES: Readonly<Record<string, string>> = { '@tidemark/cli': 'tidemark' };
/** Packages of which only some entry points are for users: the rest of the testkit needs servers and this repository's own test runner. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  '@tidemark/testkit': ['.', './eventually'],
  '@tidemark/runtime': ['.', './names'],
};
/** Its own build makes files of it, which contain its imports. */
export const CONSOLE_FOLDER = 'libs/operate/console';

export function readPublished(root: string): Published[] {
  return packageFolders(root, PARENTS).map((folder) => {
    const manifest = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')) as SourceManifest;
    const open = DOORS[manifest.name];
    const doors = Object.entries(manifest.exports ?? {}).filter(([door]) => open === undefined || open.includes(door));
    return {
      ...{ folder, manifest, name: NAMES[manifest.name] ?? manifest.name },
      ...{ doors: Object.fromEntries(doors), bins: manifest.bin ?? {} },
    };
  });
}

/** Source files that reach all others of the package. */
export const entriesOf = ({ doors, bins }: Published): string[] =>
  [...Object.values(doors), ...Object.values(bins)].filter((file) => /\.(ts|js)$/.test(file));
