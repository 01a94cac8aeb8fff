/**
 * Owns the audit of dependencies: `node scripts/audit.ts [FOLDER] [--advisories]` queries the registry for known faults of every package in
 * the lock file, and verifies signatures of what is installed (not with `--advisories`). Exits with 1 when a fault in what is shipped is
 * high or critical, or a signature is wrong.
 *
 * Not every registry answers that, and none does without a network: then it says "not asked", with the reason, and exits with 0; with
 * TIDEMARK_AUDIT=required, as a release is checked, with 1.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import accepted from './supply-chain/accepted-advisories.json' with { type: 'json' };
import { judgeReport, reportOf } from './supply-chain/audit-report.ts';
import { readLock } from './supply-chain/lockfile.ts';
import { shippedOf } from './supply-chain/shipped.ts';

const ASKING_MAX_MS = 90_000;
/** Tries once, and once more; reports why it failed, however quiet the calling npm is. */
const ASKING = ['--loglevel=warn', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=20000'];

interface NpmResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

function npm(folder: string, args: readonly string[]): Promise<NpmResult> {
  const options = { cwd: folder, timeout: ASKING_MAX_MS, maxBuffer: 64 * 1024 * 1024 };
  // By npm's own file where npm started this script: the command's name differs between systems.
  const own = process.env.npm_execpath;
  const [file, before] = own?.endsWith('.js') ? [process.execPath, [own]] : ['npm', []];
  return new Promise((resolve) => {
    execFile(file, [...before, ...args, ...ASKING], options, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1 });
    });
  });
}

/** Without the registry's address, which may hold a password. */
const reasonOf = ({ stderr, code }: NpmResult): string => {
  const lines = stderr.split('\n').map((line) => line.replace(/^npm (?:error|warn|ERR!)\s*(?:audit\s+|code\s+)?/i, ''));
  const telling = lines.find((line) => /\b[45]\d\d\b|E[A-Z]{4,}/.test(line) && !/config/.test(line));
  return (telling ?? `npm ended with ${code}`).replace(/\s*(?:- \w+ )?https?:\/\/\S+/g, '').trim();
};

function notAsked(what: string, reason: string): void {
  console.log(`${what}: not asked: ${reason}`);
  if (process.env.TIDEMARK_AUDIT === 'required') process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { advisories: { type: 'boolean' } } });
  const rootFolder = path.resolve(positionals[0] ?? fileURLToPath(new URL('../', import.meta.url)));
  const asked = await npm(rootFolder, ['audit', '--json']);
  const report = reportOf(asked.stdout);
  if (report === undefined) {
    notAsked('advisories', reasonOf(asked));
    if (values.advisories !== true) notAsked('signatures', 'the registry was not there for the advisories');
    return;
  }
  const lock = readLock(rootFolder);
  const shipped = new Set(shippedOf(lock).flatMap(({ packages }) => packages.map(({ place }) => place)));
  const { faults, notes } = judgeReport(report, shipped, accepted, new Date().toISOString().slice(0, 10));
  for (const line of [...notes, ...faults.map((fault) => `MEND: ${fault}`)]) console.log(line);
  console.log(`advisories: ${lock.size} packages, ${faults.length} faults, ${notes.length} notes`);
  if (faults.length > 0) process.exitCode = 1;
  if (values.advisories !== true) await checkSignatures(rootFolder);
}

async function checkSignatures(rootFolder: string): Promise<void> {
  const said = await npm(rootFolder, ['audit', 'signatures', '--json']);
  let found: { readonly invalid?: readonly Named[]; readonly missing?: readonly Named[] };
  try {
    found = JSON.parse(said.stdout) as typeof found;
  } catch {
    return notAsked('signatures', reasonOf(said));
  }
  if (found.invalid === undefined) return notAsked('signatures', reasonOf(said));
  for (const { name, version } of found.invalid) console.log(`MEND: ${name} ${version}: its signature is wrong`);
  for (const { name, version } of found.missing ?? []) console.log(`${name} ${version}: it has no signature`);
  console.log(`signatures: ${found.invalid.length} wrong, ${found.missing?.length ?? 0} missing`);
  if (found.invalid.length > 0) process.exitCode = 1;
}

interface Named {
  readonly name: string;
  readonly version: string;
}

if (import.meta.main) await main();
