/** Owns the check that rows in use match the log and archive, and that no interrupted rebuild has left anything. */

import { messageOf } from '@tidemark/core';
import { unfinishedClusterRebuild } from '@tidemark/host';
import { EXIT, exitCodeOf } from '@tidemark/host/exit-codes';
import type { RowComparison, RowDifference, UnfinishedRebuild } from '@tidemark/ports';
import { showProgress } from '../commands/rebuild.ts';
import { outlivedReporter } from '../failures.ts';
import { type AdminTarget, openRebuild } from '../place/admin-place.ts';
import type { Terminal } from '../terminal.ts';
import { count, counted, dateTime } from '../text/units.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Differing rows that a check names to people; programs get all. */
const DIFFERENCES_MAX_COUNT = 1_000;

const CHECK = 'Fold';

export async function checkRows(target: AdminTarget, terminal: Terminal): Promise<readonly Finding[]> {
  const report = outlivedReporter(terminal);
  // Programs get all of them.
  const limit = terminal.json ? Number.POSITIVE_INFINITY : DIFFERENCES_MAX_COUNT;
  try {
    const opened = await openRebuild(target, 'compare', {
      onProgress: (progress) => showProgress(terminal, 'fold', progress),
      onError: (error) => report('fold', error),
    });
    try {
      const left = target.kind === 'embedded' ? await opened.rows.unfinished() : undefined;
      return [...interruptedFindings(left), findingOf(await opened.rows.compare(limit))];
    } finally {
      terminal.status('');
      await opened.close();
    }
  } catch (error) {
    const remedy = 'Nothing was changed; correct what it names and check again.';
    return [fail(CHECK, messageOf(error), remedy, exitCodeOf(error))];
  }
}

function findingOf({ differences, differenceCount, rowCount, unopenedCount }: RowComparison): Finding {
  const unopened =
    unopenedCount === 0 ? '' : `; without what ${counted(unopenedCount, 'closed text')} say: no key here opens them`;
  if (differenceCount === 0) {
    return ok(CHECK, `${counted(rowCount, 'row')}, each as log and archive make it${unopened}`);
  }
  const named = differences.length < differenceCount ? `, the first ${count(differences.length)} named here` : '';
  const message = `${counted(differenceCount, 'row')} of ${count(rowCount)} not as log and archive make them${named}${unopened}`;
  const found = differences.map((each) => ({ line: lineOf(each), json: each }));
  return { ...fail(CHECK, message, 'tidemark admin rebuild rebuilds all rows.', EXIT.corrupt), found };
}

/** For a cluster: a folder is checked while it is open. */
export async function checkUnfinished(target: AdminTarget): Promise<readonly Finding[]> {
  if (target.kind !== 'cluster') return [];
  try {
    return interruptedFindings(await unfinishedClusterRebuild(target.config));
  } catch (error) {
    return [fail('Rebuild', messageOf(error), 'See the line of Postgres.', exitCodeOf(error))];
  }
}

function interruptedFindings(left: UnfinishedRebuild | undefined): readonly Finding[] {
  if (left === undefined) return [];
  const since = left.begunAtMs === 0 ? '' : `, since ${dateTime(left.begunAtMs)}`;
  if (left.isUnderWay) return [ok('Rebuild', `rows are being rebuilt${since}`)];
  const remedy = 'tidemark admin rebuild resumes where it was, tidemark admin rebuild --from-nothing begins again.';
  return [warn('Rebuild', `an interrupted rebuild left its rows beside those in use${since}`, remedy)];
}

function lineOf({ table, key, what, columns }: RowDifference): string {
  const place = Object.entries(key)
    .map(([column, value]) => `${column} ${value}`)
    .join(', ');
  if (what === 'extra') return `${table}, ${place}: nothing in the log makes it`;
  if (what === 'missing') return `${table}, ${place}: is missing`;
  return `${table}, ${place}: ${columns.join(', ')} ${columns.length === 1 ? 'differs' : 'differ'}`;
}
