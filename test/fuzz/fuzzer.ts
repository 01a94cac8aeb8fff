/**
 * Owns asking every route of an embedded host what its own OpenAPI document allows and what it doesn't, by a schema-driven fuzzer
 * (schemathesis, from PyPI, kept in .cache). It fails on any 5xx, on an answer that is not as documented, and on a hang. Streams are left
 * out: they answer for as long as somebody listens.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installedPackages } from '@tidemark/testkit/servers';
import { type Served, serveApi } from '../api/served.ts';

const VERSION = '4.32.5';
const REQUEST_TIMEOUT_S = 30;
const CHECKS = 'not_a_server_error,response_schema_conformance,content_type_conformance,status_code_conformance';
const STREAMS = ['GET /v1/events', 'GET /v1/workflows/{workflow}/events', 'GET /v1/workflows/{workflow}/stream'];
/** What is kept of its output, in characters. */
const OUTPUT_MAX_CHARS = 20_000;

export interface Fuzzed {
  readonly exitCode: number;
  /** The end of what it said. */
  readonly output: string;
}

export interface FuzzOptions {
  /** Arguments of schemathesis, such as `--max-examples`. */
  readonly args: readonly string[];
  readonly onOutput?: ((text: string) => void) | undefined;
}

/** Throws where the fuzzer can't be had (`test-server-install`): that is no reason to leave it out. */
export async function fuzz({ args, onOutput }: FuzzOptions): Promise<Fuzzed> {
  const { python, folder } = await installedPackages('schemathesis', {
    name: `schemathesis-${VERSION}`,
    packages: [`schemathesis==${VERSION}`],
  });
  const served = await serveApi();
  // It keeps its examples in the folder that it runs in.
  const work = await mkdtemp(path.join(tmpdir(), 'tidemark-fuzz-'));
  try {
    await begin(served);
    const skipped = STREAMS.flatMap((name) => ['--exclude-name', name]);
    const how = ['--checks', CHECKS, '--request-timeout', String(REQUEST_TIMEOUT_S), '--continue-on-failure'];
    const all = ['-m', 'schemathesis.cli', 'run', `${served.url}/openapi.json`, ...how, ...skipped, ...args];
    return await run(python, all, { cwd: work, path: folder, onOutput });
  } finally {
    await served.close();
    await rm(work, { recursive: true, force: true });
  }
}

/** Something to be found by. */
async function begin({ host, definitions }: Served): Promise<void> {
  const definition = definitions.find(({ name }) => name === 'patient')!;
  for (const id of ['0', 'a', 'fuzzed']) await host.client.start(definition, {}, { id });
}

function run(
  command: string,
  args: readonly string[],
  { cwd, path: packages, onOutput }: { readonly cwd: string; readonly path: string } & Pick<FuzzOptions, 'onOutput'>,
): Promise<Fuzzed> {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, PYTHONPATH: packages, NO_COLOR: '1', COLUMNS: '120' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_MAX_CHARS);
      onOutput?.(text);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ exitCode: code ?? 1, output }));
  });
}
