/** Owns the check that rows in use are as log and archive make them. */

import { EXIT, exitCodeOf } from '@tidemark/host';
import type { RowDifference } from '@tidemark/ports';
import { showProgress } from '../commands/rebuild.ts';
import { DIFFERENCES_MAX_COUNT } from '../limits.ts';
import { openRebuild, type Target } from '../state/open-desk.ts';
import type { Terminal } from '../terminal.ts';
import { count, counted } from '../text/units.ts';
import { type Finding, fail, messageOf, ok } from './finding.ts';

const CHECK = 'Fold';

export async function checkRows(target: Target, terminal: Terminal): Promise<Finding> {
  try {
    const opened = await openRebuild(target, 'compare', {
      onProgress: (progress) => showProgress(terminal, 'fold', progress),
    });
    try {
      const { differences, differenceCount, rowCount } = await opened.rows.compare(DIFFERENCES_MAX_COUNT);
      if (differenceCount === 0) return ok(CHECK, `${counted(rowCount, 'row')}, each as log and archive make it`);
      const named = differences.length < differenceCount ? `, the first ${count(differences.length)} named here` : '';
      const message = `${counted(differenceCount, 'row')} of ${count(rowCount)} not as log and archive make them${named}`;
      const found = differences.map((each) => ({ line: lineOf(each), json: each }));
      return { ...fail(CHECK, message, 'tidemark rebuild makes all rows anew.', EXIT.corrupt), found };
    } finally {
      terminal.status('');
      await opened.close();
    }
  } catch (error) {
    return fail(CHECK, messageOf(error), 'Nothing was changed; mend what it names and check again.', exitCodeOf(error));
  }
}

function lineOf({ table, key, what, columns }: RowDifference): string {
  const place = Object.entries(key)
    .map(([column, value]) => `${column} ${value}`)
    .join(', ');
  if (what === 'extra') return `${table}, ${place}: nothing in the log makes it`;
  if (what === 'missing') return `${table}, ${place}: is missing`;
  return `${table}, ${place}: ${columns.join(', ')} ${columns.length === 1 ? 'differs' : 'differ'}`;
}
