/**
 * Owns the check of licences: `node scripts/licences.ts [FOLDER]` reads the lock file there, prints each package whose licence is not
 * allowed, and exits with 1 when there is one. supply-chain/licences.json lists what is allowed, and each exception with its reason.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { licenceFaults } from './supply-chain/licence-rules.ts';
import policy from './supply-chain/licences.json' with { type: 'json' };
import { readLock } from './supply-chain/lockfile.ts';
import { shippedOf } from './supply-chain/shipped.ts';

function main(): void {
  const rootFolder = path.resolve(process.argv[2] ?? fileURLToPath(new URL('../', import.meta.url)));
  const lock = readLock(rootFolder);
  const shipped = new Set(shippedOf(lock).flatMap(({ packages }) => packages.map(({ place }) => place)));
  const faults = licenceFaults(lock, shipped, policy);
  for (const fault of faults) console.log(fault);
  console.log(`licences: ${lock.size} packages, ${shipped.size} of them shipped, ${faults.length} faults`);
  if (faults.length === 0) return;
  console.log(
    'Use another package, or add the licence, or an exception with its reason, to scripts/supply-chain/licences.json.',
  );
  process.exitCode = 1;
}

if (import.meta.main) main();
