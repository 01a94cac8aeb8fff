/** The name of a build: the same for the same code wherever it lies, another for any change of what the workflows import. */

import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadDefinitions } from './load-definitions.ts';
import { buildOf, sourceDigest } from './source-build.ts';

describe('the digest of code', () => {
  let folder: string;
  let app: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-build-'));
    app = path.join(folder, 'app');
    await mkdir(path.join(app, 'node_modules/dep'), { recursive: true });
    await write(
      'agent.mjs',
      "import { ask } from './lib/ask.mjs';\nimport 'dep';\nimport '@acme/own';\nimport '@acme/esm';\nexport { ask };\n",
    );
    await write(
      'lib/ask.mjs',
      "import prompt from './prompt.json' with { type: 'json' };\nimport 'dep-esm';\nexport const ask = prompt;\n",
    );
    await write('lib/prompt.json', '"hello"');
    await write('other.mjs', 'export const other = 1;\n');
    await write('node_modules/dep/index.js', '1;\n');
    await write('own/package.json', '{"name":"@acme/own","exports":"./own.js"}');
    await write('own/own.js', '1;\n');
    await write('esm/package.json', '{"name":"@acme/esm","exports":{".":{"import":"./src/esm.js"}}}');
    await write('esm/src/esm.js', '1;\n');
    await write('esm/node_modules/dep/index.js', '1;\n');
    await mkdir(path.join(app, 'node_modules/@acme'));
    await symlink(path.join(app, 'own'), path.join(app, 'node_modules/@acme/own'));
    await symlink(path.join(app, 'esm'), path.join(app, 'node_modules/@acme/esm'));
    await write('node_modules/dep-esm/package.json', '{"name":"dep-esm","exports":{"import":"./index.js"}}');
    await write('node_modules/dep-esm/index.js', '1;\n');
    await write('package-lock.json', '{}');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(path.dirname(path.join(app, file)), { recursive: true });
    await writeFile(path.join(app, file), text);
  };
  const digest = (root = app) => sourceDigest([path.join(root, 'agent.mjs')]);

  it.each([
    [
      'the module itself',
      'agent.mjs',
      "import { ask } from './lib/ask.mjs';\nimport '@acme/own';\nexport { ask };\n// \n",
    ],
    ['a module that it imports', 'lib/ask.mjs', 'export const ask = 2;\n'],
    ['data that it imports', 'lib/prompt.json', '"good day"'],
    ['a package of the workspace', 'own/own.js', '2;\n'],
    ['a package of the workspace that is for import alone', 'esm/src/esm.js', '2;\n'],
    ['the lock file of packages', 'package-lock.json', '{"lockfileVersion":3}'],
  ])('is another after a change of %s', async (_, file, text) => {
    const before = await digest();
    await write(file, text);
    expect(await digest()).not.toBe(before);
  });

  it('is the same in another place, and whatever else changes', async () => {
    const before = await digest();
    expect(before).toMatch(/^[0-9a-f]{16}$/);
    await write('other.mjs', 'export const other = 2;\n');
    for (const dep of ['', 'esm/']) await write(`${dep}node_modules/dep/index.js`, '2;\n');
    await write('node_modules/dep-esm/index.js', '2;\n');
    expect(await digest()).toBe(before);
    const copy = path.join(folder, 'deeper/copy');
    await cp(app, copy, { recursive: true, verbatimSymlinks: true });
    for (const name of ['own', 'esm']) {
      await rm(path.join(copy, 'node_modules/@acme', name));
      await symlink(path.join(copy, name), path.join(copy, 'node_modules/@acme', name));
    }
    expect(await digest(copy)).toBe(before);
  });

  it('names a build where a definition goes on by itself on a new one, with what its deployer calls it', async () => {
    const body = (onFailure: string): string =>
      `export const d = { name: 'd-${onFailure}', version: 1, onFailure: '${onFailure}', steps: new Map(), begin() {} };\n`;
    await write('park.mjs', body('park'));
    await write('again.mjs', body('retry-on-new-build'));
    const park = await loadDefinitions(['./park.mjs'], app);
    const again = await loadDefinitions(['./again.mjs'], app);
    expect(await buildOf(park, undefined)).toBeUndefined();
    expect(await buildOf(park, 'app:7')).toBe('app:7');
    const own = await sourceDigest([path.join(app, 'again.mjs')]);
    expect(await buildOf(again, undefined)).toBe(own);
    expect(await buildOf(again, 'app:7')).toBe(`app:7+${own}`);
  });
});
