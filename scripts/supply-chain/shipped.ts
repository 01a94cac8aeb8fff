/** Owns what leaves this repository: which packages others install or run, and what is built into them. */
import { closureOf, type Lock, type LockedPackage } from './lockfile.ts';

export interface Shipped {
  /** Of the files that describe it. */
  readonly name: string;
  readonly description: string;
  /** Everything in it, our own packages included, by place. */
  readonly packages: readonly LockedPackage[];
  /** The packages that it consists of; the others are their dependencies. */
  readonly parts: readonly string[];
}

const CONSOLE = 'libs/operate/console';
const TESTKIT = 'libs/testkit';
/** As in .dockerignore. */
const EXAMPLE_OF_IMAGE = 'examples/patterns';

/**
 * Packages that the console imports are in its built files, though its manifest has them among the development dependencies: nobody
 * installs them. test/supply-chain/sbom.test.ts checks this list against the imports.
 */
export const BUILT_INTO_CONSOLE = [
  '@fontsource-variable/inter',
  '@fontsource-variable/jetbrains-mono',
  '@tanstack/react-query',
  '@tanstack/react-virtual',
  'react',
  'react-dom',
] as const;

export function shippedOf(lock: Lock): readonly Shipped[] {
  const own = [...lock.values()].filter(({ isOwn, place }) => isOwn && place !== '').map(({ place }) => place);
  const libs = own.filter((place) => place.startsWith('libs/') && place !== TESTKIT);
  const services = own.filter((place) => place.startsWith('services/'));
  const made = (name: string, description: string, parts: readonly string[]): Shipped => ({
    ...{ name, description, parts },
    packages: closureOf(lock, [...parts, ...(parts.includes(CONSOLE) ? builtIn(lock) : [])]),
  });
  return [
    made('tidemark', 'The packages, the services and the console.', [...libs, ...services]),
    made('tidemark-testkit', "What users' tests install beside it.", [TESTKIT]),
    made('tidemark-image', 'What npm installs in the container image; its base image is not among it.', [
      ...[...libs, ...services, ...own.filter((place) => place === EXAMPLE_OF_IMAGE)],
    ]),
  ];
}

function builtIn(lock: Lock): readonly string[] {
  const known = lock.get(CONSOLE)?.develops ?? [];
  return BUILT_INTO_CONSOLE.map((name) => {
    const place = known.find((one) => lock.get(one)?.name === name);
    if (place === undefined)
      throw new Error(`${CONSOLE}/package.json does not name ${name}: correct BUILT_INTO_CONSOLE.`);
    return place;
  });
}
