/** What `npm run sbom` writes: right by its formats' schemas, the same each time, and complete: also what is built into the console. */
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { faultsOf, sbomsOf } from '../../scripts/sbom.ts';
import { cycloneDxFaults, spdxFaults } from '../../scripts/supply-chain/sbom-validators.ts';
import { BUILT_INTO_CONSOLE } from '../../scripts/supply-chain/shipped.ts';

const root = path.resolve(import.meta.dirname, '../..');
const created = new Date('2026-01-01T00:00:00.500Z');
const files = sbomsOf(root, created);
const textOf = (name: string): string => files.find((file) => file.name === name)!.text;

interface CycloneDx {
  readonly components: readonly { readonly group?: string; readonly name: string; readonly purl: string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}
const namesIn = (name: string): Set<string> =>
  new Set(
    (JSON.parse(textOf(name)) as CycloneDx).components.map((one) => [one.group, one.name].filter(Boolean).join('/')),
  );

test('each is right by its schema', async () => {
  const faults = await Promise.all(files.map(async (file) => [file.name, await faultsOf(file)]));
  expect(Object.fromEntries(faults)).toEqual(Object.fromEntries(files.map(({ name }) => [name, []])));
});

test('they are the same each time, and at another time, but for that which SPDX names', () => {
  const later = sbomsOf(root, new Date('2027-02-03T00:00:00Z'));
  const kept = (text: string): string => text.replace(/"(?:created|documentNamespace)": "[^"]*"/g, '');
  expect(later.map(({ text }) => kept(text))).toEqual(files.map(({ text }) => kept(text)));
  expect(sbomsOf(root, created)).toEqual(files);
});

describe('a wrong one is told', () => {
  test('CycloneDX', async () => {
    const wrong = textOf('tidemark.cdx.json').replace('"type": "library"', '"type": "librarian"');
    expect(await cycloneDxFaults(wrong)).not.toEqual([]);
  });

  test('SPDX: a word that it does not have, and a relationship to nothing', () => {
    const text = textOf('tidemark.spdx.json');
    expect(spdxFaults(text.replace('"DEPENDS_ON"', '"LEANS_ON"'))).not.toEqual([]);
    expect(
      spdxFaults(text.replace('"relatedSpdxElement": "SPDXRef-', '"relatedSpdxElement": "SPDXRef-un')),
    ).not.toEqual([]);
  });
});

test('it has what runs, and not what only develops or tests', () => {
  const names = namesIn('tidemark.cdx.json');
  for (const name of [
    '@tidemark/core',
    '@tidemark/worker-service',
    'pg',
    'kafkajs',
    'fastify',
    ...BUILT_INTO_CONSOLE,
  ]) {
    expect(names).toContain(name);
  }
  for (const name of ['@tidemark/testkit', 'testcontainers', 'vitest', 'typescript', 'vite', '@biomejs/biome']) {
    expect(names).not.toContain(name);
  }
  expect(namesIn('tidemark-testkit.cdx.json')).toContain('testcontainers');
});

test('every dependency that it names is in it', () => {
  for (const { name, text } of files.filter((file) => file.name.endsWith('.cdx.json'))) {
    const { components, dependencies } = JSON.parse(text) as CycloneDx;
    const known = new Set(components.map(({ purl }) => purl));
    expect([name, dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref))]).toEqual([
      name,
      [],
    ]);
  }
});

test('no path of a machine and no registry is in any', () => {
  for (const { name, text } of files) {
    const found = text.match(/file:|\/tmp\/|\/home\/|https?:\/\/(?!spdx\.org)[^"]*/g) ?? [];
    expect([name, found]).toEqual([name, []]);
    expect(text).not.toContain(root);
  }
});

test('what the console is built of is what its source imports', async () => {
  const folder = path.join(root, 'libs/operate/console/src');
  const sources = (await readdir(folder, { recursive: true })).filter((name) => /(?<!\.test)\.tsx?$/.test(name));
  const packageOf = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0];
  const imported = sources.flatMap((name) => {
    const { module } = parseSync(name, readFileSync(path.join(folder, name), 'utf8'));
    return module.staticImports.map(({ moduleRequest }) => moduleRequest.value);
  });
  const fonts = await readFile(path.join(root, 'libs/operate/console/src/styles/fonts.css'), 'utf8');
  const linked = [...fonts.matchAll(/url\("([^"]+)"\)/g)].map(([, address]) => address!);
  const outside = [...imported, ...linked].filter((name) => !/^[./]/.test(name)).map(packageOf);
  const others = [...new Set(outside)].filter((name) => !name.startsWith('@tidemark/')).sort();
  expect(others).toEqual([...BUILT_INTO_CONSOLE]);
});
