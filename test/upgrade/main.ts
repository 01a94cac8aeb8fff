/**
 * `npm run upgrade -- [--workers W] [--live N] [--seed S] [--keep]`: rolling upgrades under load, process by process, there and back: from the
 * release before this one (as git has it) to this one, then from this one to the next. Exits with 1 when anything was lost or differs.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { NEXT_CHANGES } from './next-release.ts';
import { runUpgrade, upgradeChecks } from './run.ts';
import { changedRelease, hasCommit, PREVIOUS_RELEASE, ROOT, releaseAt } from './trees.ts';

/** Cases of one kind that are told in full. */
const ACCOUNTS_MAX = 5;

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '2' },
    live: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    keep: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function upgrade(name: string, from: string, to: string): Promise<boolean> {
  say(`${name}, seed ${values.seed}`);
  const own = await mkdir(path.join(folder, name.replaceAll(' ', '-')), { recursive: true });
  const result = await runUpgrade({
    ...{ from, to, newest: to, folder: own! },
    workerCount: Number(values.workers),
    atOnce: 1,
    liveMax: Number(values.live),
    seed: Number(values.seed),
    onProgress: (line) => say(`  ${line}`),
  });
  for (const check of upgradeChecks) {
    const found = result.findings[check];
    say(`  ${check}: ${found.length}`);
    for (const { workflow, what } of found.slice(0, ACCOUNTS_MAX)) {
      say(`    ${what}`);
      if (workflow !== '') say(result.account(workflow));
    }
  }
  say(`  surprises: ${result.surprises.length}`);
  const { workflowCount, checkpointCount, effectCount, replacedCount, rejectedCounts } = result;
  say(
    `  ${workflowCount} workflows, ${checkpointCount} checkpoints, ${effectCount} effects, ${replacedCount} replaced`,
  );
  say(`  rejected of fenced and late writers: ${JSON.stringify(rejectedCounts)}`);
  return upgradeChecks.every((check) => result.findings[check].length === 0) && result.surprises.length === 0;
}

const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-upgrade-'));
let isGood = true;
try {
  if (await hasCommit(PREVIOUS_RELEASE)) {
    const previous = await releaseAt(PREVIOUS_RELEASE, path.join(folder, 'previous'));
    isGood = await upgrade('from the release before to this one and back', previous, ROOT);
  } else {
    say(`This clone lacks commit ${PREVIOUS_RELEASE}: git fetch --unshallow. The release before was not run.`);
    isGood = false;
  }
  const next = await changedRelease(NEXT_CHANGES, path.join(folder, 'next'));
  isGood = (await upgrade('from this release to the next and back', ROOT, next)) && isGood;
} finally {
  if (values.keep) say(`logs in ${folder}`);
  else await rm(folder, { recursive: true });
}
process.exit(isGood ? 0 : 1);
