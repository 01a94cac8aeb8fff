/** Every lock file of the repository says what is installed by its digest, and from no registry of its own: the product's, the embedder's, the documents' and the peers'. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LockedPackage, readLock } from '../../scripts/supply-chain/lockfile.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** What `tidemark admin install-embedder` installs on users' machines. */
const EMBEDDER = 'libs/engine/memory/src/embedder';

/** Builds for platforms that the registry of whoever made the lock file didn't have are named without a digest; npm then takes what it gets. */
const unheld = (packages: Iterable<LockedPackage>): string[] =>
  [...packages]
    .filter(({ isOwn, integrity, isPlatformBuild }) => !isOwn && !isPlatformBuild && integrity === undefined)
    .map(({ place }) => place);

describe.for(['.', 'docs/site', 'test/bench/peers/workspace', EMBEDDER])('the lock file of %s', (folder) => {
  const packages = [...readLock(path.join(ROOT, folder)).values()];

  it('holds the digest of each package', () => {
    expect(existsSync(path.join(ROOT, folder, 'package.json'))).toBe(true);
    expect(packages.length).toBeGreaterThan(40);
    expect(unheld(packages)).toEqual([]);
  });

  it('a package without one would be found', () => {
    const one = packages.find(({ integrity }) => integrity !== undefined)!;
    expect(unheld([{ ...one, isPlatformBuild: false, integrity: undefined }])).toEqual([one.place]);
  });
});
