/**
 * What `npm run build` makes of the packages' manifests and sources, without building: nothing that is for development alone, nothing that
 * users' package managers wouldn't find. `npm run packages` builds, installs and runs them.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type BuiltManifest, builtManifest, builtPath, type RootManifest } from '../../scripts/build/manifest.ts';
import { CONSOLE_FOLDER, type Published, readPublished } from '../../scripts/build/published.ts';
import { type Reached, reachOf } from '../../scripts/build/reach.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const root = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as RootManifest;
const siblings = readPublished(ROOT);

interface Made {
  readonly published: Published;
  readonly reached: Reached;
  readonly manifest: BuiltManifest;
  readonly sources: ReadonlyMap<string, string>;
}

const all: readonly Made[] = siblings.map((published) => {
  const reached = reachOf(ROOT, published);
  const sources = reached.files.map(
    (file) => [file, readFileSync(path.join(ROOT, published.folder, file), 'utf8')] as const,
  );
  return {
    published,
    reached,
    manifest: builtManifest(published, { reached, siblings, root }),
    sources: new Map(sources),
  };
});
const made = (name: string): Made => all.find(({ manifest }) => manifest.name === name)!;

describe('what is published', () => {
  it('is every library and service, the command under the name that npx asks for', () => {
    const names = all.map(({ manifest }) => manifest.name);
    expect(names).toEqual(
      expect.arrayContaining(['tidemark', '@tidemark/sdk', '@tidemark/console', '@tidemark/testkit']),
    );
    expect(names).not.toContain('@tidemark/cli');
    expect(new Set(names).size).toBe(all.length);
    expect(made('tidemark').manifest.bin).toEqual({ tidemark: 'bin/tidemark.js' });
    for (const service of ['coordinator', 'worker', 'compactor']) {
      expect(made(`@tidemark/${service}-service`).manifest.bin).toEqual({ [`tidemark-${service}`]: 'dist/main.js' });
    }
  });

  it('has one version, that of all', () => {
    expect(new Set(all.map(({ manifest }) => manifest.version)).size).toBe(1);
  });
});

describe.for(all)('$manifest.name', ({ published, reached, manifest, sources }) => {
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };

  it('says what a registry and its users want to know, and nothing of development', () => {
    expect(manifest).toMatchObject({
      license: 'Apache-2.0',
      engines: { node: '>=24' },
      repository: { type: 'git', url: root.repository.url, directory: published.folder },
      publishConfig: { access: 'public', provenance: true },
    });
    expect(manifest.description).not.toBe('');
    for (const key of ['private', 'devDependencies', 'scripts', 'workspaces', 'overrides'])
      expect(manifest).not.toHaveProperty(key);
  });

  it('imports of its siblings what they publish', () => {
    for (const [file, text] of sources) {
      for (const [, name = '', door = ''] of text.matchAll(/from '(@tidemark\/[\w-]+)(\/[\w-/]+)?'/g)) {
        const sibling = all.find((other) => other.published.manifest.name === name);
        if (sibling === undefined) continue;
        expect(Object.keys(sibling.manifest.exports), `${file} imports ${name}${door}`).toContain(`.${door}`);
      }
    }
  });

  it('depends on its siblings at exactly their version, on others within a range', () => {
    for (const [name, range] of Object.entries(manifest.dependencies)) {
      const sibling = all.find((other) => other.manifest.name === name);
      if (sibling !== undefined) expect([name, range]).toEqual([name, sibling.manifest.version]);
      else expect([name, range]).toEqual([name, expect.stringMatching(/^[\^~]?\d+\.\d+/)]);
      expect(name).not.toBe('@tidemark/cli');
    }
  });

  it('declares all that it imports', () => {
    const undeclared = [...reached.packages].filter(([name]) => !(name in declared) && name !== manifest.name);
    expect(undeclared).toEqual([]);
  });

  it('declares nothing of others that it has no use for', () => {
    const names = Object.keys(manifest.dependencies).filter((name) => !name.startsWith('@tidemark/'));
    // Types of what has none of its own are found by whoever compiles against ours.
    const idle = names.filter(
      (name) => ![...sources.values()].some((text) => text.includes(`'${name.replace('@types/', '')}`)),
    );
    expect(idle).toEqual([]);
  });

  it('has what its doors and commands lead to', () => {
    const doors = Object.values(published.doors).concat(Object.values(published.bins));
    for (const file of doors) expect(existsSync(path.join(ROOT, published.folder, file)), file).toBe(true);
    const has = reached.files.map((file) => `./${builtPath(file)}`);
    for (const [door, target] of Object.entries(manifest.exports)) {
      if (door !== './package.json') expect(has).toContain(typeof target === 'string' ? target : target.default);
    }
    if (published.folder !== CONSOLE_FOLDER) expect(has.length).toBeGreaterThan(0);
  });

  it('holds no test, fixture or bench', () => {
    expect(reached.files.filter((file) => /\.test\.|-fixture|fixtures\/|bench|spawned-/.test(file))).toEqual([]);
  });

  it('reads no file that only the repository has', () => {
    for (const [file, text] of sources) {
      for (const [, named] of text.matchAll(/new URL\(\s*['"`]([^'"`]+)['"`],\s*import\.meta\.url/g)) {
        const lead = path.posix.join(path.posix.dirname(file), named!);
        expect(['package.json', ...reached.files], `${file} reads ${named}`).toContain(lead);
      }
      expect(text, file).not.toMatch(/import\.meta\.(dirname|filename)/);
    }
  });
});

describe('the testkit', () => {
  it('brings its world for tests, without the servers that this repository tests on', () => {
    const { manifest } = made('@tidemark/testkit');
    expect(Object.keys(manifest.exports)).toEqual(['.', './eventually', './package.json']);
    for (const name of ['testcontainers', 'oidc-provider', 'kafkajs'])
      expect(manifest.dependencies).not.toHaveProperty(name);
  });

  it('has each door that the tutorial and the README import', () => {
    for (const page of ['docs/tutorial.md', 'README.md']) {
      const text = readFileSync(path.join(ROOT, page), 'utf8');
      for (const [, name = '', door = ''] of text.matchAll(/from '(@tidemark\/[\w-]+)(\/[\w-/]+)?'/g))
        expect(Object.keys(made(name).manifest.exports), `${page}: ${name}${door}`).toContain(`.${door}`);
    }
  });
});
