/**
 * Owns `npm run sbom`: writes the list of what is shipped into dist/sbom/, as CycloneDX 1.6 and SPDX 2.3, each validated against its schema
 * first. The same commit gives the same bytes. SOURCE_DATE_EPOCH (seconds) is the time that SPDX needs; by default that of the commit.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLock } from './supply-chain/lockfile.ts';
import { cycloneDxOf } from './supply-chain/sbom-cyclonedx.ts';
import { spdxOf } from './supply-chain/sbom-spdx.ts';
import { cycloneDxFaults, spdxFaults } from './supply-chain/sbom-validators.ts';
import { shippedOf } from './supply-chain/shipped.ts';

export interface SbomFile {
  readonly name: string;
  readonly text: string;
  readonly packageCount: number;
}

/** The files for the tree at `rootFolder`. `created`: for SPDX. */
export function sbomsOf(rootFolder: string, created: Date): readonly SbomFile[] {
  const lock = readLock(rootFolder);
  const { version } = JSON.parse(readFileSync(path.join(rootFolder, 'package.json'), 'utf8')) as { version: string };
  const seconds = created.toISOString().replace(/\.\d+Z$/, 'Z');
  return shippedOf(lock).flatMap((shipped) => {
    const packageCount = shipped.packages.length;
    const cycloneDx = textOf(cycloneDxOf(lock, shipped, version));
    const spdx = textOf(spdxOf(lock, shipped, version, seconds));
    return [
      { name: `${shipped.name}.cdx.json`, text: cycloneDx, packageCount },
      { name: `${shipped.name}.spdx.json`, text: spdx, packageCount },
    ];
  });
}

/** Its faults by the schema of its format. */
export const faultsOf = async ({ name, text }: SbomFile): Promise<readonly string[]> =>
  name.endsWith('.cdx.json') ? cycloneDxFaults(text) : spdxFaults(text);

const textOf = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;

function commitTime(rootFolder: string): Date {
  const given = process.env.SOURCE_DATE_EPOCH;
  const said = given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: rootFolder, encoding: 'utf8' });
  const time = new Date(Number(said.trim()) * 1_000);
  if (said.trim() === '' || Number.isNaN(time.getTime())) {
    throw new Error(`SOURCE_DATE_EPOCH is "${said.trim()}": write a time in seconds since 1970, such as 1767225600.`);
  }
  return time;
}

async function main(): Promise<void> {
  const rootFolder = fileURLToPath(new URL('../', import.meta.url));
  const folder = path.join(rootFolder, 'dist/sbom');
  mkdirSync(folder, { recursive: true });
  for (const file of sbomsOf(rootFolder, commitTime(rootFolder))) {
    const { name, text, packageCount } = file;
    const faults = await faultsOf(file);
    for (const fault of faults) console.log(`${name}: ${fault}`);
    if (faults.length > 0) {
      process.exitCode = 1;
      continue;
    }
    writeFileSync(path.join(folder, name), text);
    console.log(`dist/sbom/${name}: ${packageCount} packages`);
  }
}

if (import.meta.main) await main();
