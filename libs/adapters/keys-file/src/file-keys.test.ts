/** Runs the contract of KeyProvider on a key file, and what only this adapter promises: the file's modes, its creation, its rotation. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tenantId, workflowId } from '@tidemark/core';
import type { WrappedKey } from '@tidemark/ports';
import { found, keyProviderContract } from '@tidemark/testkit/contracts/key-provider';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFileKeys, rotateFileKeys } from './index.ts';
import { makeKeyFile, refuseExposed } from './key-file.ts';

const context = { tenant: tenantId('t'), workflow: workflowId('w') };
const dataKey = new Uint8Array(32).fill(7);

const [ROOT, OWN, OTHER] = [0, 1_000, 1_001];

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-keys-'));
  file = path.join(folder, 'keys.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function keysIn(at: string): Promise<string[]> {
  return JSON.parse(await readFile(at, 'utf8')).keys.map(({ key }: { readonly key: string }) => key);
}

function flipped(key: WrappedKey): WrappedKey {
  const bytes = Buffer.from(key.wrapped, 'base64');
  bytes[20]! ^= 1;
  return { ...key, wrapped: bytes.toString('base64') };
}

keyProviderContract('a key file', async () => {
  const keys = await openFileKeys({ file });
  const secrets = await keysIn(file);
  return {
    keys,
    again: () => openFileKeys({ file }),
    async rotate() {
      await rotateFileKeys({ file });
      secrets.push(...(await keysIn(file)));
      return openFileKeys({ file });
    },
    async foreign(key, about) {
      const other = await openFileKeys({ file: path.join(folder, 'other.json') });
      return { ...(await other.wrap(key, about)), wrappedBy: await keys.current() };
    },
    damaged: flipped,
    async away() {
      const gone = path.join(folder, 'gone.json');
      const opened = await openFileKeys({ file: gone });
      await rm(gone);
      return opened;
    },
    secrets: () => secrets,
    close: () => keys.close(),
  };
});

describe('the file', () => {
  test('is made for its owner alone, in a folder that need not be there, and nothing is left beside it', async () => {
    const at = path.join(folder, 'a', 'b', 'keys.json');
    await openFileKeys({ file: at });
    expect((await stat(at)).mode & 0o777).toBe(0o600);
    await rotateFileKeys({ file: at });
    expect((await stat(at)).mode & 0o777).toBe(0o600);
    expect(await readdir(path.dirname(at))).toEqual(['keys.json']);
  });

  test.each([0o640, 0o604, 0o620, 0o644])('of mode %o is refused, and not changed', async (mode) => {
    await openFileKeys({ file });
    const before = await readFile(file, 'utf8');
    await chmod(file, mode);
    for (const call of [openFileKeys, rotateFileKeys]) {
      const error = await call({ file }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({
        name: 'ConfigError',
        code: 'key-file-exposed',
        message: expect.stringContaining('chmod 600'),
      });
      expect(found(error!, await keysIn(file))).toEqual([]);
    }
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  test.each([
    [ROOT, 0o440, OWN, undefined],
    [ROOT, 0o640, OWN, undefined],
    [ROOT, 0o444, OWN, 'mode'],
    [ROOT, 0o460, OWN, 'mode'],
    [OWN, 0o440, OWN, 'mode'],
    [ROOT, 0o440, ROOT, 'mode'],
    [OWN, 0o400, OWN, undefined],
    [OTHER, 0o400, OWN, 'owner'],
  ])('of user %i with mode %o is for user %i: %s', (uid, mode, user, wrong) => {
    const stats = { uid: BigInt(uid), mode: BigInt(mode), size: 100n, isFile: () => true };
    const exposed = () => refuseExposed(file, stats, user);
    if (wrong === undefined) expect(exposed()).toBeUndefined();
    else
      expect(exposed).toThrow(
        expect.objectContaining({ code: 'key-file-exposed', details: { file, [wrong]: expect.anything() } }),
      );
  });

  const damages: readonly (readonly [string, string, (text: string) => string])[] = [
    ['empty', 'key-file-damaged', () => ''],
    ['cut short', 'key-file-damaged', (text) => text.slice(0, -30)],
    ['of other content', 'key-file-foreign', () => '{"name":"x","version":"1.0.0"}'],
    ['of other text', 'key-file-damaged', () => 'SECRET=hunter2'],
    [
      'with a changed key',
      'key-file-damaged',
      (text) => text.replace(/"key": "(.)/, (_, first) => `"key": "${first === 'A' ? 'B' : 'A'}`),
    ],
    ['with a short key', 'key-file-damaged', (text) => text.replace(/"key": "..../, '"key": "')],
    ['whose current key is not there', 'key-file-damaged', (text) => text.replace(/"current": "./, '"current": "x')],
    ['of a newer version', 'key-file-newer', (text) => text.replace('"tidemarkKeys": 1', '"tidemarkKeys": 2')],
  ];
  test.each(damages)('%s is refused, told without its content, and not changed', async (_, code, damage) => {
    await openFileKeys({ file });
    const secrets = await keysIn(file);
    const text = damage(await readFile(file, 'utf8'));
    await writeFile(file, text);
    for (const call of [openFileKeys, rotateFileKeys]) {
      const error = await call({ file }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({ name: 'ConfigError', code });
      expect(found(error!, [...secrets, 'hunter2', ...secrets.map((secret) => secret.slice(4, 30))])).toEqual([]);
    }
    expect(await readFile(file, 'utf8')).toBe(text);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  test('that is gone is an error for who has it open, and no new one is made', async () => {
    const keys = await openFileKeys({ file });
    const wrapped = await keys.wrap(dataKey, context);
    await rm(file);
    await expect(keys.wrap(dataKey, context)).rejects.toMatchObject({ name: 'ConfigError', code: 'key-file-unusable' });
    expect(await readdir(folder)).toEqual([]);
    // The keys it has loaded keep working.
    expect(Buffer.from(await keys.unwrap(wrapped, context))).toEqual(Buffer.from(dataKey));
  });

  test('that is absent is made where nothing needs it, and missed where something does', async () => {
    const count = (many: number) => ({ file, neededBy: async () => many });
    await expect(openFileKeys(count(3))).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'key-file-missing',
      message: expect.stringMatching(/keys\.json does not exist, and 3 data keys .* Restore it, or a copy of it/),
      details: { file, count: 3 },
    });
    expect(await readdir(folder)).toEqual([]);
    await openFileKeys(count(0));
    expect(await readdir(folder)).toEqual(['keys.json']);
    // An existing file is used, whatever needs it.
    await openFileKeys(count(3));
  });

  test('that another process makes while it is asked who needs it is used', async () => {
    const neededBy = async () => {
      await makeKeyFile(file);
      return 1;
    };
    const keys = await openFileKeys({ file, neededBy });
    expect(await keysIn(file)).toHaveLength(1);
    expect(await keys.current()).toBe(await (await openFileKeys({ file })).current());
  });

  test('a folder, or a place that nobody can write, is refused', async () => {
    await expect(openFileKeys({ file: folder })).rejects.toMatchObject({ name: 'ConfigError' });
    await writeFile(file, '');
    await expect(openFileKeys({ file: path.join(file, 'keys.json') })).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'key-file-unusable',
    });
  });
});

describe('several processes', () => {
  const program = `
    const { openFileKeys, rotateFileKeys } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
    const [what, file] = process.argv.slice(-2);
    process.stdin.once('data', async () => {
      try {
        console.log(what === 'open' ? await (await openFileKeys({ file })).current() : await rotateFileKeys({ file }));
      } catch (error) {
        console.log(error.code);
      }
      process.exit();
    });
    console.log('ready');`;

  /** Starts them, lets them begin together, and returns the output of each. */
  async function race(what: 'open' | 'rotate', count: number): Promise<string[]> {
    const children = Array.from({ length: count }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', program, '--', what, file], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    const said = children.map((child) => outputOf(child));
    await Promise.all(children.map((child) => once(child.stdout!, 'data')));
    for (const child of children) child.stdin!.write('go\n');
    return (await Promise.all(said)).map((text) => text.trim().split('\n').at(-1)!);
  }

  async function outputOf(child: ChildProcess): Promise<string> {
    let text = '';
    child.stdout!.on('data', (chunk) => {
      text += chunk;
    });
    await once(child, 'close');
    return text;
  }

  test('that find no file make one, and all have it', async () => {
    const said = await race('open', 4);
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toBe(await (await openFileKeys({ file })).current());
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  test('or as many openings in one: what any of them wraps at once is unwrapped in the end', async () => {
    const wrapped = await Promise.all(
      Array.from({ length: 60 }, async () => (await openFileKeys({ file })).wrap(dataKey, context)),
    );
    const keys = await openFileKeys({ file });
    for (const key of wrapped) expect(Buffer.from(await keys.unwrap(key, context))).toEqual(Buffer.from(dataKey));
    expect(await keysIn(file)).toHaveLength(1);
  });

  test('of which one comes late with its new file leave the one that is there', async () => {
    await makeKeyFile(file);
    const before = await readFile(file, 'utf8');
    await makeKeyFile(file);
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await readdir(folder)).toEqual(['keys.json']);
  });

  test('that rotate at once lose no key: each is in the file or was told to be refused', async () => {
    const first = await (await openFileKeys({ file })).current();
    const said = await race('rotate', 4);
    const added = said.filter((text) => text !== 'key-file-busy');
    const ids = JSON.parse(await readFile(file, 'utf8')).keys.map(({ id }: { readonly id: string }) => id);
    expect(ids.sort()).toEqual([first, ...added].sort());
    expect(await readdir(folder)).toEqual(['keys.json']);
  });
});

describe('a rotation', () => {
  test('is noticed by who has the file open, without opening it again', async () => {
    const keys = await openFileKeys({ file });
    const before = await keys.current();
    const added = await rotateFileKeys({ file });
    expect(await keys.current()).toBe(added);
    expect(added).not.toBe(before);
    expect((await keys.wrap(dataKey, context)).wrappedBy).toBe(added);
  });

  test('that died half-way says what to do, and goes on when that was done', async () => {
    await openFileKeys({ file });
    await writeFile(`${file}.next`, '{"half');
    await expect(rotateFileKeys({ file })).rejects.toMatchObject({
      name: 'ConflictError',
      code: 'key-file-busy',
      message: expect.stringContaining(`remove ${file}.next`),
    });
    await rm(`${file}.next`);
    await rotateFileKeys({ file });
    expect(await keysIn(file)).toHaveLength(2);
  });

  test('of a link replaces what it names', async () => {
    await openFileKeys({ file });
    const link = path.join(folder, 'link.json');
    await symlink(file, link);
    await rotateFileKeys({ file: link });
    expect(await keysIn(file)).toHaveLength(2);
    expect(await (await openFileKeys({ file: link })).current()).toBe(await (await openFileKeys({ file })).current());
  });

  test('of a file that is not there makes none', async () => {
    await expect(rotateFileKeys({ file })).rejects.toMatchObject({ name: 'ConfigError', code: 'key-file-unusable' });
    expect(await readdir(folder)).toEqual([]);
  });
});
