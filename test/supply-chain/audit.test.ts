/** The audit by npm itself, against a registry that says what a test wants: what stops a release, and what is said when nobody answers. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import { type AuditReport, judgeReport } from '../../scripts/supply-chain/audit-report.ts';

const root = path.resolve(import.meta.dirname, '../..');
const TIMEOUT_MS = 60_000;

/** What `scripts/audit.ts` says of the sound fixture. `bulk`: the registry's answer; undefined: it has none for that. */
async function audited(
  { onTestFinished }: TestContext,
  bulk: object | undefined,
  env: Readonly<Record<string, string>> = {},
) {
  const registry = createServer((request, response) => {
    request.resume();
    const isBulk = request.method === 'POST' && request.url === '/-/npm/v1/security/advisories/bulk';
    response.statusCode = !isBulk ? 404 : bulk === undefined ? 405 : 200;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(bulk ?? {}));
  });
  await new Promise<void>((listening) => registry.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void registry.close());
  const { port } = registry.address() as AddressInfo;
  // npm keeps what it made of an advisory.
  const cache = await mkdtemp(path.join(tmpdir(), 'tidemark-npm-'));
  onTestFinished(() => rm(cache, { recursive: true, force: true }));
  const script = [
    path.join(root, 'scripts/audit.ts'),
    path.join(root, 'test/fixtures/supply-chain/sound'),
    '--advisories',
  ];
  return new Promise<{ readonly said: string; readonly code: number }>((resolve) => {
    const address = `http://somebody:s3cret-word@127.0.0.1:${port}/`;
    const options = {
      env: {
        ...process.env,
        TIDEMARK_AUDIT: '',
        npm_config_registry: address,
        npm_config_cache: cache,
        npm_config_loglevel: 'silent',
        ...env,
      },
    };
    execFile(process.execPath, script, options, (error, stdout, stderr) => {
      resolve({ said: stdout + stderr, code: error === null ? 0 : Number(error.code) });
    });
  });
}

const advisory = {
  id: 1,
  title: 'It listens to anybody',
  vulnerable_versions: '<9',
  url: 'https://example.com/GHSA-1',
};

describe.concurrent('npm asks', () => {
  test('what is high in what is shipped stops it; in what only develops it is a note', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const one = [{ ...advisory, severity: 'high' }];
    const { said, code } = await audited(context, { alpha: one, builder: one });
    expect(said).toContain('MEND: alpha (shipped): high: It listens to anybody (GHSA-1)');
    expect(said).toMatch(/^builder \(to develop\): high/m);
    expect(code).toBe(1);
  });

  test('what is moderate is a note', { timeout: TIMEOUT_MS }, async (context) => {
    const { said, code } = await audited(context, { alpha: [{ ...advisory, severity: 'moderate' }] });
    expect(said).toMatch(/advisories: \d+ packages, 0 faults, 1 notes/);
    expect(code).toBe(0);
  });

  test('a registry without an answer is told, with the reason and without its address', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const { said, code } = await audited(context, undefined);
    expect(said).toContain('advisories: not asked: 405 Method Not Allowed');
    expect(said).not.toMatch(/s3cret-word|127\.0\.0\.1/);
    expect(code).toBe(0);
    const required = await audited(context, undefined, { TIDEMARK_AUDIT: 'required' });
    expect(required).toEqual({ said, code: 1 });
  });
});

test('an advisory may be accepted for a reason, until a day', () => {
  const via = [{ title: 'It listens', url: 'https://example.com/GHSA-1', severity: 'critical' }];
  const vulnerabilities = { alpha: { name: 'alpha', via, nodes: ['node_modules/alpha'] } };
  const report: AuditReport = { auditReportVersion: 2, vulnerabilities };
  const shipped = new Set(['node_modules/alpha']);
  const accepted = { 'GHSA-1': { reason: 'We never let it listen.', until: '2026-06-30' } };
  const faultCount = (by: typeof accepted | Record<string, never>, today: string): number =>
    judgeReport(report, shipped, by, today).faults.length;
  expect(faultCount({}, '2026-06-01')).toBe(1);
  expect(faultCount(accepted, '2026-06-30')).toBe(0);
  expect(faultCount(accepted, '2026-07-01')).toBe(1);
});
