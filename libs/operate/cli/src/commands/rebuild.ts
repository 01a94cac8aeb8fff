/** Owns `tidemark admin rebuild`: all rows are rebuilt from log and archive, and replace those in use. */

import { EXIT } from '@tidemark/host/exit-codes';
import type { RebuildProgress } from '@tidemark/runtime';
import { noState, outlivedReporter } from '../failures.ts';
import { type AdminOptions, adminTarget, openRebuild, recorded, writeDown } from '../place/admin-place.ts';
import { exists } from '../place/folder.ts';
import type { Session } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { progressBar } from '../text/progress.ts';
import { counted, duration } from '../text/units.ts';

export interface RebuildOptions extends AdminOptions {
  /** Discards what an earlier run has folded. */
  readonly fromNothing?: boolean | undefined;
}

export async function rebuild(session: Session, options: RebuildOptions): Promise<number> {
  const { terminal } = session;
  const target = adminTarget(options, session);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  const startedMs = performance.now();
  let foldedCount = 0;
  const report = outlivedReporter(terminal);
  const opened = await openRebuild(target, 'switch', {
    onProgress: (progress) => {
      foldedCount = progress.foldedCount;
      showProgress(terminal, 'rebuild', progress);
    },
    onError: (error) => report('rebuild', error),
  });
  const switchOver = async (): Promise<number> => {
    try {
      await opened.rows.switchOver({ isFromNothing: options.fromNothing === true });
    } finally {
      terminal.status('');
      await opened.close();
    }
    return performance.now() - startedMs;
  };
  const ms = await recorded(
    switchOver,
    () => ({ action: 'rebuild' }),
    (changed, code) => writeDown(session, target, changed, code),
  );
  terminal.answer({ log_entries: foldedCount, seconds: ms / 1_000 });
  terminal.line(
    foldedCount === 0
      ? 'An earlier rebuild had folded everything: its rows are in use now.'
      : `Folded ${entries(foldedCount)} from log and archive in ${duration(ms)}: the rows in use are new.`,
  );
  return EXIT.ok;
}

const entries = (count: number): string => counted(count, 'log entry', 'log entries');

/** `rebuild ████░░░░ 12,000 of 40,000 log entries`. */
export function showProgress(
  terminal: Terminal,
  step: string,
  { doneCount, totalCount }: Pick<RebuildProgress, 'doneCount' | 'totalCount'>,
): void {
  terminal.status(progressBar({ step, done: doneCount, total: totalCount, text: 'log entries' }));
}
