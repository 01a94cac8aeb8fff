/** Owns `tidemark compact`, `verify`, `restore` and `du`: history that is no longer in log and rows. */

import { InvalidError, isoTime } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { StorageUse } from '@tidemark/ports';
import type { ArchiveVerdict, RestoreState } from '@tidemark/runtime';
import type { Session } from '../session.ts';
import type { CompactAnswer } from '../state/archive-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { table } from '../text/table.ts';
import { bytes, count, counted, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { atDesk } from './memory-place.ts';

export interface ArchiveOptions {
  readonly state?: string | undefined;
}

export interface CompactOptions extends ArchiveOptions {
  readonly olderThan: number;
  readonly mbPerS?: number | undefined;
}

export interface VerifyOptions extends ArchiveOptions {
  readonly workflow?: string | undefined;
}

export interface DuOptions extends ArchiveOptions {
  readonly by: 'tenant' | 'workflow';
  readonly limit: number;
}

const BYTES_PER_MB = 1_000_000;

export async function compact(session: Session, options: CompactOptions): Promise<number> {
  const { olderThan: hotMs, mbPerS } = options;
  const paceBytesPerSecond = mbPerS === undefined ? null : mbPerS * BYTES_PER_MB;
  const answer = await atDesk(session, options, 'look', (desk) => desk.archive.compact({ hotMs, paceBytesPerSecond }));
  const { terminal } = session;
  terminal.document(compactJson(answer));
  for (const { where, code, message } of answer.failures) terminal.warn(`${where}: ${printable(message)} (${code})`);
  terminal.line(
    answer.segmentCount === 0
      ? 'Nothing is old enough to be archived.'
      : `Archived ${counted(answer.eventCount, 'event')} in ${counted(answer.segmentCount, 'segment')}: ${bytes(answer.rawBytes)} of log in ${bytes(answer.bytes)}, ${change(answer)}.`,
  );
  const kept = retained(answer);
  if (kept !== '') terminal.line(`Retention: ${kept}.`);
  if (answer.sweep.deletedCount > 0) {
    terminal.line(`Deleted ${counted(answer.sweep.deletedCount, 'large payload')} that nothing named for days.`);
  }
  return answer.failedCount > 0 ? EXIT.failed : EXIT.ok;
}

const saved = ({ bytes: kept, rawBytes }: { readonly bytes: number; readonly rawBytes: number }): string =>
  `${(100 * (1 - kept / Math.max(rawBytes, 1))).toFixed(1)} %`;

/** A tiny segment is mostly its own columns. */
const change = (of: { readonly bytes: number; readonly rawBytes: number }): string =>
  of.bytes > of.rawBytes ? 'larger, as small segments are' : `${saved(of)} smaller`;

/** What became of segments by age; empty: nothing. */
function retained({ deletedCount, cooledCount, heldCount, unendedCount }: CompactAnswer): string {
  const parts = [
    deletedCount > 0 && `deleted ${counted(deletedCount, 'segment')} for good`,
    cooledCount > 0 && `moved ${counted(cooledCount, 'segment')} to the cold store`,
    heldCount > 0 && `${counted(heldCount, 'segment')} held (tidemark retention)`,
    unendedCount > 0 &&
      `${counted(unendedCount, 'segment')} kept until all in it has ended, or with what is remembered outside of runs`,
  ];
  return parts.filter((part) => part !== false).join(', ');
}

const compactJson = ({
  segmentCount,
  eventCount,
  rawBytes,
  bytes: kept,
  failedCount,
  failures,
  sweep,
  ...retention
}: CompactAnswer) => ({
  segments: segmentCount,
  events: eventCount,
  raw_bytes: rawBytes,
  bytes: kept,
  failed_partitions: failedCount,
  failures,
  deleted_blobs: sweep.deletedCount,
  cooled_segments: retention.cooledCount,
  deleted_segments: retention.deletedCount,
  held_segments: retention.heldCount,
  unended_segments: retention.unendedCount,
});

export async function verify(session: Session, options: VerifyOptions): Promise<number> {
  const verdict = await atDesk(session, options, 'look', async (desk) => {
    if (options.workflow === undefined) return desk.archive.verify(null);
    const { partition } = await requireWorkflow(desk, options.workflow);
    return desk.archive.verify([partition]);
  });
  const { terminal } = session;
  terminal.document(verdictJson(verdict));
  for (const { partition, from, code, message } of verdict.problems) {
    terminal.warn(`partition ${partition}, segment at ${from}: ${printable(message)} (${code})`);
  }
  const { segmentCount, eventCount, coldCount, deletedCount, problems } = verdict;
  const read = `${counted(segmentCount, 'segment')} with ${counted(eventCount, 'event')}`;
  const cold = coldCount === 0 ? '' : ` ${counted(coldCount, 'segment')} must be recalled to be read.`;
  const deleted = deletedCount === 0 ? '' : ` Of ${counted(deletedCount, 'segment')} a policy left the manifest alone.`;
  const unread = `${cold}${deleted}`;
  terminal.line(
    problems.length > 0
      ? `${read}: ${counted(problems.length, 'problem')}.${unread}`
      : `${read}: every byte, every link of the chains and every folded state is as it was written.${unread}`,
  );
  return problems.length > 0 ? EXIT.corrupt : EXIT.ok;
}

const verdictJson = (verdict: ArchiveVerdict) => ({
  partitions: verdict.partitionCount,
  segments: verdict.segmentCount,
  events: verdict.eventCount,
  bytes: verdict.bytes,
  raw_bytes: verdict.rawBytes,
  unread_segments: verdict.coldCount,
  deleted_segments: verdict.deletedCount,
  chains: verdict.chains,
  deletions: verdict.deletions,
  problems: verdict.problems,
});

export async function restore(session: Session, id: string, options: ArchiveOptions): Promise<number> {
  const state = await atDesk(session, options, 'look', async (desk) => {
    const { workflow } = await requireWorkflow(desk, id);
    return desk.archive.restore(workflow);
  });
  const { terminal } = session;
  terminal.document(restoreJson(id, state));
  terminal.line(restoreLine(id, state));
  return EXIT.ok;
}

const restoreJson = (workflow: string, state: RestoreState) => ({
  workflow,
  state: state.state,
  ...(state.state === 'restored' && { segments: state.segmentCount, events: state.eventCount }),
  ...(state.state === 'recalling' && {
    segments: state.segmentCount,
    expected_at: state.expectedAtMs === null ? null : isoTime(state.expectedAtMs),
  }),
});

function restoreLine(id: string, state: RestoreState): string {
  const name = printable(id);
  if (state.state === 'here') return `The history of ${name} is at hand: nothing had to be brought back.`;
  if (state.state === 'restored') {
    return `Brought back ${counted(state.eventCount, 'event')} of ${name} from ${counted(state.segmentCount, 'segment')}.`;
  }
  const when = state.expectedAtMs === null ? 'nobody says when' : `expected by ${dateTime(state.expectedAtMs)}`;
  return `${counted(state.segmentCount, 'segment')} of ${name} must come back from the archive class (${when}). Run this again then.`;
}

export async function du(session: Session, options: DuOptions): Promise<number> {
  if (options.by !== 'tenant' && options.by !== 'workflow')
    throw new InvalidError('by-invalid', '--by: tenant or workflow.');
  const { logBytes, blobCount, storage } = await atDesk(session, options, 'look', (desk) =>
    desk.archive.usage(options.by, options.limit),
  );
  const { terminal } = session;
  terminal.document({ log_bytes: logBytes, blobs: blobCount, by: options.by, storage: storage.map(usageJson) });
  const large = blobCount === null || blobCount === 0 ? '' : ` Large payloads outside of it: ${count(blobCount)}.`;
  terminal.line(`Log: ${bytes(logBytes)}.${large}`);
  const hasForks = storage.some(({ forkOf }) => forkOf !== undefined);
  const columns = [
    { title: options.by.toUpperCase(), shrinksTo: 12 },
    { title: 'WORKFLOWS', align: 'right' },
    { title: 'ROWS', align: 'right' },
    { title: 'ARCHIVED EVENTS', align: 'right' },
    { title: 'AS LOG', align: 'right' },
    { title: 'ARCHIVED', align: 'right' },
    { title: 'SMALLER', align: 'right' },
    ...(hasForks ? [{ title: 'FORK OF', shrinksTo: 12 }] : []),
  ] as const;
  const rows = storage.map((use) => [
    printable(use.name),
    count(use.workflowCount),
    bytes(use.hotBytes),
    count(use.archivedEventCount),
    bytes(use.archivedRawBytes),
    bytes(use.archivedBytes),
    use.archivedRawBytes === 0 || use.archivedBytes > use.archivedRawBytes
      ? ''
      : saved({ bytes: use.archivedBytes, rawBytes: use.archivedRawBytes }),
    ...(hasForks ? [printable(use.forkOf ?? '')] : []),
  ]);
  terminal.lines(table(columns, rows, { width: terminal.width }));
  return EXIT.ok;
}

const usageJson = (use: StorageUse) => ({
  name: use.name,
  workflows: use.workflowCount,
  hot_bytes: use.hotBytes,
  archived_events: use.archivedEventCount,
  archived_raw_bytes: use.archivedRawBytes,
  archived_bytes: use.archivedBytes,
  ...(use.forkOf !== undefined && { fork_of: use.forkOf }),
});
