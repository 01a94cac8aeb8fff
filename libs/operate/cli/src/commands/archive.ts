/** Owns `tidemark admin compact`, `verify` and `restore`: history that is no longer in log and rows. */

import { ConfigError, InvalidError, isoTime, workflowId } from '@tidemark/core';
import type { Host, Tiers } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import {
  type ArchiveVerdict,
  type PassReport,
  type RestoreState,
  recordedDeletions,
  verifyArchive,
} from '@tidemark/runtime';
import { type AdminOptions, atHost } from '../place/admin-place.ts';
import type { Session } from '../session.ts';
import { bytes, counted, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface CompactOptions extends AdminOptions {
  readonly olderThan: number;
}

export interface VerifyOptions extends AdminOptions {
  readonly workflow?: string | undefined;
}

interface CompactAnswer extends PassReport {
  /** Failures of single partitions. */
  readonly failures: readonly { readonly where: string; readonly code: string; readonly message: string }[];
}

export async function compact(session: Session, options: CompactOptions): Promise<number> {
  const answer = await atHost(session, options, (host) => pass(host, options), { action: 'compact' });
  const { terminal } = session;
  terminal.answer(compactJson(answer));
  for (const { where, code, message } of answer.failures) terminal.warn(`${where}: ${printable(message)} (${code})`);
  terminal.line(
    answer.segmentCount === 0
      ? 'Nothing is old enough to be archived.'
      : `Archived ${counted(answer.eventCount, 'event')} in ${counted(answer.segmentCount, 'segment')}: ${bytes(answer.rawBytes)} of log in ${bytes(answer.bytes)}, ${change(answer)}.`,
  );
  const kept = retained(answer);
  if (kept !== '') terminal.line(`Retention: ${kept}.`);
  return answer.failedCount > 0 ? EXIT.failed : EXIT.ok;
}

/** Runs one pass now. */
async function pass(host: Host, { olderThan: hotMs }: CompactOptions): Promise<CompactAnswer> {
  const failures: { where: string; code: string; message: string }[] = [];
  const compactor = host.compactor({
    policy: { hotMs, segmentMinBytes: 1 },
    paceBytesPerSecond: Number.POSITIVE_INFINITY,
    onError: (where, error) => {
      const { code = 'internal', message = String(error) } = error as { code?: string; message?: string };
      failures.push({ where, code, message });
    },
  });
  try {
    const passed = await compactor.pass();
    return { ...passed, failures };
  } finally {
    await compactor.stop();
  }
}

const saved = ({ bytes: kept, rawBytes }: { readonly bytes: number; readonly rawBytes: number }): string =>
  `${(100 * (1 - kept / Math.max(rawBytes, 1))).toFixed(1)} %`;

/** A tiny segment is mostly its own columns. */
const change = (of: { readonly bytes: number; readonly rawBytes: number }): string =>
  of.bytes > of.rawBytes ? 'larger, as small segments are' : `${saved(of)} smaller`;

/** Lists segments by the outcome of their age; empty: nothing happened. */
function retained({ deletedCount, cooledCount, heldCount, unendedCount, unindexedCount }: CompactAnswer): string {
  const parts = [
    deletedCount > 0 && `deleted ${counted(deletedCount, 'segment')} for good`,
    cooledCount > 0 && `moved ${counted(cooledCount, 'segment')} to the cold store`,
    heldCount > 0 && `${counted(heldCount, 'segment')} held (tidemark retention)`,
    unendedCount > 0 &&
      `${counted(unendedCount, 'segment')} kept until all in it has ended, or with what is remembered outside of runs`,
    unindexedCount > 0 && `${counted(unindexedCount, 'segment')} kept until the index has all segments again`,
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
  ...retention
}: CompactAnswer) => ({
  segments: segmentCount,
  events: eventCount,
  raw_bytes: rawBytes,
  bytes: kept,
  failed_partitions: failedCount,
  failures,
  cooled_segments: retention.cooledCount,
  deleted_segments: retention.deletedCount,
  held_segments: retention.heldCount,
  unended_segments: retention.unendedCount,
  unindexed_segments: retention.unindexedCount,
});

export async function verify(session: Session, options: VerifyOptions): Promise<number> {
  const verdict = await atHost(session, options, async (host) => {
    const { hot, archive, blobs } = tiersOf(host);
    const partitions = options.workflow === undefined ? undefined : [(await rowOf(host, options.workflow)).partition];
    return verifyArchive(hot, archive, {
      blobs,
      partitions,
      deletions: (tenant) => recordedDeletions(host.ports, tenant),
    });
  });
  const { terminal } = session;
  terminal.answer(verdictJson(verdict));
  for (const { partition, from, code, message } of verdict.problems) {
    terminal.warn(`partition ${partition}, segment at ${from}: ${printable(message)} (${code})`);
  }
  const { segmentCount, eventCount, coldCount, deletedCount, problems } = verdict;
  if (segmentCount + coldCount + deletedCount + problems.length === 0) {
    terminal.line('Nothing is archived yet, so there is nothing to verify; tidemark admin compact archives.');
    return EXIT.nothing;
  }
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

export async function restore(session: Session, id: string, options: AdminOptions): Promise<number> {
  const state = await atHost(
    session,
    options,
    async (host) => {
      const { workflow } = await rowOf(host, id);
      return tiersOf(host).restorer.restore(workflow);
    },
    { action: 'restore', target: id },
  );
  const { terminal } = session;
  terminal.answer(restoreJson(id, state));
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
  if (state.state === 'here') return `The history of ${name} is available: nothing had to be restored.`;
  if (state.state === 'restored') {
    return `Restored ${counted(state.eventCount, 'event')} of ${name} from ${counted(state.segmentCount, 'segment')}.`;
  }
  const when = state.expectedAtMs === null ? 'at an unknown time' : `expected by ${dateTime(state.expectedAtMs)}`;
  return `${counted(state.segmentCount, 'segment')} of ${name} must be restored from the archive class (${when}). Run this again then.`;
}

/** Throws `InvalidError` (`workflow-unknown`). */
async function rowOf({ ports }: Host, id: string) {
  const row = await ports.store.workflow(workflowId(id));
  if (row !== undefined) return row;
  throw new InvalidError('workflow-unknown', `No workflow has the id '${id}'; tidemark ls lists those there are.`);
}

function tiersOf({ tiers }: Host): Tiers {
  if (tiers !== undefined) return tiers;
  throw new ConfigError('archive-missing', 'There is no archive: set TIDEMARK_ARCHIVE_URL, as the services have it.');
}
