/**
 * `npm run fuzz [-- SECONDS]`: a schema-driven fuzzer (schemathesis, from PyPI, kept in .cache) asks every route of an embedded host what its own
 * OpenAPI document allows and what it doesn't. Fails on any 5xx, on an answer that is not as documented, and on a hang. Streams are left out:
 * they answer for as long as somebody listens.
 */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { serveApi } from '../api/served.ts';

const VERSION = '4.32.5';
const REQUEST_TIMEOUT_S = 30;
const CHECKS = 'not_a_server_error,response_schema_conformance,content_type_conformance,status_code_conformance';
const seconds = Number(process.argv[2] ?? 60);
const venv = path.resolve(import.meta.dirname, '../../.cache/schemathesis/venv');

async function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function install(): Promise<void> {
  if (existsSync(path.join(venv, 'bin/schemathesis'))) return;
  const made = await run('python3', ['-m', 'venv', venv]);
  const installed =
    made === 0 ? await run(path.join(venv, 'bin/pip'), ['install', '-q', `schemathesis==${VERSION}`]) : made;
  if (installed !== 0) throw new Error('schemathesis could not be installed: it needs python3 with venv, and PyPI.');
}

await install();
const served = await serveApi();
try {
  // Something to be found by.
  const { client } = served.host;
  for (const id of ['0', 'a', 'fuzzed']) {
    const [definition] = served.definitions.filter(({ name }) => name === 'patient');
    await client.start(definition!, {}, { id });
  }
  const limits = ['--max-time', String(seconds), '--request-timeout', String(REQUEST_TIMEOUT_S)];
  const skipped = ['--exclude-name', 'GET /v1/events', '--exclude-name', 'GET /v1/workflows/{workflow}/events'];
  process.exitCode = await run(path.join(venv, 'bin/schemathesis'), [
    ...['run', `${served.url}/openapi.json`, '--checks', CHECKS, '--phases', 'coverage,fuzzing', '--workers', '1'],
    ...['--generation-deterministic', '--continue-on-failure', ...limits, ...skipped],
  ]);
} finally {
  await served.close();
}
