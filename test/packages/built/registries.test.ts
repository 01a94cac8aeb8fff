/** What registries and tools of other people say of the packed packages. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Packed, readPacked, type StandInRegistry, serveRegistry } from './registry.ts';

const TIMEOUT_MS = 120_000;
const all = readPacked(process.env.TIDEMARK_PACKAGES!);

/** Of what loads CommonJS alone the packages ask for `import()`, or for Node's own `require` of ES modules. */
const ALLOWED = new Set(['CJSResolvesToESM', 'NoResolution']);

describe.for(all)('$manifest.name', { timeout: TIMEOUT_MS }, ({ manifest, tarball }: Packed) => {
  let registry: StandInRegistry;
  beforeAll(async () => {
    registry = await serveRegistry([], undefined);
  });
  afterAll(() => registry.close());

  it('passes npm publish --dry-run', async () => {
    const { stdout } = await promisify(execFile)('npm', [
      'publish',
      tarball,
      '--dry-run',
      '--json',
      '--registry',
      registry.url,
    ]);
    const shown = JSON.parse(stdout) as Record<string, unknown>;
    const { files } = (shown[manifest.name] ?? shown) as { readonly files: readonly { readonly path: string }[] };
    const names = files.map((file) => file.path);
    expect(names).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    expect(names.filter((name) => /\.test\.|fixture|(^|\/)\./.test(name))).toEqual([]);
  });

  it('is what publint asks for', async () => {
    const data = readFileSync(tarball);
    const { messages } = await publint({
      pack: { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) },
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, manifest as never))).toEqual([]);
  });

  it('has the right types for its doors', async () => {
    const { problems } = (await checkPackage(createPackageFromTarballData(readFileSync(tarball)))) as {
      readonly problems?: readonly { readonly kind: string; readonly resolutionKind?: string }[];
    };
    // Node's resolution before `exports` (node10) finds nothing: the packages need Node 24.
    const wrong = (problems ?? []).filter(
      ({ kind, resolutionKind }) =>
        !(ALLOWED.has(kind) && resolutionKind !== 'node16-esm' && resolutionKind !== 'bundler'),
    );
    expect(wrong, path.basename(tarball)).toEqual([]);
  });
});
