/** Owns `tidemark rebuild`: all rows made anew from log and archive, and put in the place of those in use. */

import { EXIT } from '@tidemark/host';
import { noState } from '../failures.ts';
import type { Session } from '../session.ts';
import { exists, openRebuild, targetOf } from '../state/open-desk.ts';
import type { Terminal } from '../terminal.ts';
import { progressBar } from '../text/progress.ts';
import { counted, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface RebuildOptions {
  readonly state?: string | undefined;
}

export async function rebuild({ terminal, env, cwd }: Session, options: RebuildOptions): Promise<number> {
  const target = targetOf(options.state, env, cwd);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  const startedMs = performance.now();
  let eventCount = 0;
  const opened = await openRebuild(target, 'switch', {
    onProgress: (progress) => {
      eventCount = progress.doneCount;
      showProgress(terminal, 'rebuild', progress);
    },
    onError: (error) => terminal.warn(printable(error instanceof Error ? error.message : String(error))),
  });
  try {
    await opened.rows.switchOver();
  } finally {
    terminal.status('');
    await opened.close();
  }
  const ms = performance.now() - startedMs;
  terminal.document({ events: eventCount, seconds: ms / 1_000 });
  terminal.line(
    eventCount === 0
      ? 'An earlier rebuild had folded everything: its rows are in use now.'
      : `Folded ${counted(eventCount, 'event')} from log and archive in ${duration(ms)}: the rows in use are new.`,
  );
  return EXIT.ok;
}

/** `rebuild ████░░░░ 12,000 of 40,000 events`. */
export function showProgress(
  terminal: Terminal,
  step: string,
  { doneCount, totalCount }: { readonly doneCount: number; readonly totalCount: number },
): void {
  terminal.status(progressBar({ step, done: doneCount, total: totalCount, text: 'events' }));
}
