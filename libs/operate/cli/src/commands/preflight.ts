/**
 * Owns `tidemark admin preflight`: it compares every open workflow, at its newest checkpoint, with the workflows of a new build. Changes
 * nothing, and holds one page of workflows at a time.
 */

import type { WorkflowId } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import type { ProjectionStore } from '@tidemark/ports';
import { type Definition, preflight as judge, type PreflightGroup, PreflightReport } from '@tidemark/runtime';
import { readDefinitions } from '../definitions.ts';
import { type AdminOptions, adminTarget, atHost } from '../place/admin-place.ts';
import { exists } from '../place/folder.ts';
import type { Session } from '../session.ts';
import type { Colour, Terminal } from '../terminal.ts';
import { counted } from '../text/units.ts';
import { padEnd, printable } from '../text/width.ts';

/** Ids that one read of a preflight returns. Memory stays the same however many workflows there are. */
export const PREFLIGHT_IDS_PAGE_COUNT = 1_000;
/** Workflows that it loads at once. */
export const PREFLIGHT_STREAMS_PAGE_COUNT = 25;

export interface PreflightOptions extends AdminOptions {
  readonly workflows: readonly string[];
}

const COLOURS: Readonly<Record<PreflightGroup['verdict'], Colour>> = {
  safe: 'green',
  'needs-upcaster': 'red',
  pin: 'yellow',
};

/** 0 when the build could continue all of them, else 1. */
export async function preflight(session: Session, options: PreflightOptions): Promise<number> {
  const { terminal, cwd } = session;
  const definitions = await readDefinitions(options.workflows, cwd);
  const target = adminTarget(options, session);
  const report = new PreflightReport();
  if (target.kind === 'cluster' || exists(target)) {
    await atHost(session, options, ({ ports }) => judgeAll(ports.store, definitions, report));
  }
  terminal.answer({ safe: report.isSafe, groups: report.groups });
  terminal.lines(reportLines(report, terminal));
  return report.isSafe ? EXIT.ok : EXIT.failed;
}

/** Stops nothing, so it may miss workflows that start or end meanwhile. */
export async function judgeAll(
  reads: Pick<ProjectionStore, 'openWorkflows' | 'loadStreams'>,
  definitions: readonly Definition[],
  report: PreflightReport,
): Promise<void> {
  for (let after: WorkflowId | null = null; ; ) {
    const ids: readonly WorkflowId[] = await reads.openWorkflows(after, PREFLIGHT_IDS_PAGE_COUNT);
    for (let at = 0; at < ids.length; at += PREFLIGHT_STREAMS_PAGE_COUNT) {
      for (const snapshot of await reads.loadStreams(ids.slice(at, at + PREFLIGHT_STREAMS_PAGE_COUNT))) {
        const judged = judge(snapshot, definitions);
        if (judged !== undefined) report.add(judged);
      }
    }
    if (ids.length < PREFLIGHT_IDS_PAGE_COUNT) return;
    after = ids.at(-1)!;
  }
}

function reportLines(report: PreflightReport, { paint }: Terminal): readonly string[] {
  const { groups } = report;
  if (groups.length === 0) return ['No open workflows: nothing prevents the roll-out.'];
  const lines = groups.flatMap((group) => [
    `${paint(COLOURS[group.verdict], padEnd(group.verdict, 14))}  ${titleOf(group)}: ${counted(group.count, 'workflow')} (${group.examples.map(printable).join(', ')}${group.count > group.examples.length ? ', …' : ''})`,
    ...group.problems.map(
      ({ where, path, message, count }) =>
        `${' '.repeat(16)}${counted(count, 'workflow')}: ${printable(`${where}${path === '' ? '' : `, ${path}`}: ${message}`)}`,
    ),
  ]);
  return [...lines, '', report.isSafe ? paint('green', 'All are safe.') : adviceOf(groups)];
}

const titleOf = ({ definition, version }: PreflightGroup): string => `${printable(definition)} v${version}`;

function adviceOf(groups: readonly PreflightGroup[]): string {
  const has = (verdict: PreflightGroup['verdict']): boolean => groups.some((group) => group.verdict === verdict);
  return [
    ...(has('needs-upcaster')
      ? ['Add upcast to the new version for workflows that need it, or keep the old build running.']
      : []),
    ...(has('pin') ? ['A workflow marked pin runs only with its own build: keep workers of that build running.'] : []),
  ].join(' ');
}
