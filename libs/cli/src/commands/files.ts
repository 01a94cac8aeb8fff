/**
 * Owns `tidemark files export`, `mirror` and `import`: a run as plain files, whoever holds its state. A mirror holds a state
 * folder for single looks alone, so that whoever wants to run workflows there can.
 */

import path from 'node:path';
import { cardOf } from '@tidemark/api/shapes';
import { DEFAULT_TENANT, InvalidError, type TenantId, tenantId, UnavailableError } from '@tidemark/core';
import {
  type ExportOptions,
  exportFiles,
  type FilesReport,
  importFiles,
  type Mirror,
  mirrorFiles,
  type Shown,
  type WayBack,
} from '@tidemark/files';
import { EXIT } from '@tidemark/host';
import { pipelineSteps } from '@tidemark/sdk';
import { findSecrets } from '@tidemark/secrets';
import { noState, outlivedReporter, UsageError } from '../failures.ts';
import { readInput } from '../input.ts';
import { FOLLOW_ONE_PERIOD_MS } from '../limits.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { pick, readDefinitions } from '../state/definitions.ts';
import type { Desk } from '../state/desk.ts';
import { exists, openClusterDesk, openToRead, type Target, targetOf } from '../state/open-desk.ts';
import { openToRun } from '../state/open-to-run.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { connectSocket } from '../state/socket-desk.ts';
import { shellWord } from '../text/shell.ts';
import { printable } from '../text/width.ts';

export interface ShownOptions {
  readonly run?: string | undefined;
  readonly newest?: string | undefined;
  readonly tenant?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

export interface ImportOptions {
  readonly as: string;
  readonly id?: string | undefined;
  readonly tenant?: string | undefined;
  readonly input?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

/** Records are read page by page no further than this. */
const RECORDS_MAX_COUNT = 1_000;

export async function filesExport(session: Session, folder: string, options: ShownOptions): Promise<number> {
  const shown = shownIn(options);
  const target = targetThere(session, options);
  const desk = await openToRead(target);
  try {
    const view = await exportFiles(await viewOptions(session, desk, folder, shown, options));
    const { terminal } = session;
    terminal.document({ workflow: view.workflow, status: view.status, folder: path.resolve(session.cwd, folder) });
    terminal.line(`${printable(view.workflow)}  ${view.status}  in ${printable(folder)}`);
    return EXIT.ok;
  } finally {
    await desk.close();
  }
}

export async function filesMirror(session: Session, folder: string, options: ShownOptions): Promise<number> {
  const shown = shownIn(options);
  const target = targetThere(session, options);
  const interruption = takeInterrupts(session);
  try {
    session.terminal.record({ type: 'mirroring', folder: path.resolve(session.cwd, folder), ...shown });
    session.terminal.note(`Mirrors ${wordsOf(shown)} in ${printable(folder)}; Ctrl-C stops.`);
    while (!interruption.signal.aborted) await mirrorOnce(session, target, folder, shown, options, interruption.signal);
    return EXIT.ok;
  } finally {
    interruption.release();
  }
}

/** Through whoever holds the state, as long as it does; while nobody does, one look and then a wait for somebody. */
async function mirrorOnce(
  session: Session,
  target: Target,
  folder: string,
  shown: Shown,
  options: ShownOptions,
  signal: AbortSignal,
): Promise<void> {
  const desk =
    target.kind === 'cluster' ? await openClusterDesk(target.config) : await connectSocket(target.folder, target.shown);
  if (desk !== undefined) {
    try {
      await mirrorThrough(session, desk, folder, shown, options, signal);
    } finally {
      await desk.close();
    }
    return;
  }
  const idle = await openToRead(target);
  try {
    // The first run of a workflow may be yet to come.
    if ('workflow' in shown || (await hasRun(idle, shown))) {
      await exportFiles(await viewOptions(session, idle, folder, shown, options));
    }
  } finally {
    await idle.close();
  }
  if (target.kind !== 'embedded') return;
  session.terminal.record({ type: 'waiting', for: 'tidemark dev or run' });
  session.terminal.note(`Nobody runs workflows in ${target.shown} now; waiting for tidemark dev or run.`);
  await someoneHolds(target, signal);
}

async function hasRun(
  { reads }: Desk,
  { definition, tenant = DEFAULT_TENANT }: Extract<Shown, { definition: string }>,
) {
  return (await reads.workflows({ definition, tenant, limit: 1 })).length > 0;
}

async function mirrorThrough(
  session: Session,
  desk: Desk,
  folder: string,
  shown: Shown,
  options: ShownOptions,
  signal: AbortSignal,
): Promise<void> {
  const { promise: gone, resolve: goes } = Promise.withResolvers<void>();
  let mirror: Mirror | undefined;
  const stop = (): void => goes();
  signal.addEventListener('abort', stop, { once: true });
  try {
    mirror = await mirrorFiles({
      ...(await viewOptions(session, desk, folder, shown, options)),
      subscribe: (listener) =>
        desk.onNews((news) => {
          if (news.type === 'gone') goes();
          else if (news.type === 'applied') listener();
        }),
    });
    await Promise.race([gone, mirror.ended]);
    await mirror.close();
  } catch (error) {
    // The last look finds nobody to ask: the next round looks itself.
    if (!(error instanceof UnavailableError && error.code === 'holder-gone')) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function someoneHolds(target: Extract<Target, { kind: 'embedded' }>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const desk = await connectSocket(target.folder, target.shown);
    await desk?.close();
    if (desk !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_ONE_PERIOD_MS));
  }
}

export async function filesImport(session: Session, folder: string, options: ImportOptions): Promise<number> {
  const { cwd, env, terminal } = session;
  const modules = options.workflows ?? [];
  const definition = pick(await readDefinitions(modules, cwd), options.as, 'in the given modules (--workflows)');
  const stepNames = pipelineSteps(definition);
  if (stepNames === undefined) {
    const message = `${options.as} is no pipeline: only a pipeline's steps can be called done by files.`;
    throw new InvalidError('not-a-pipeline', message, { definition: options.as });
  }
  const target = targetOf(options.state, env, cwd);
  const input = await readInput(options.input, session);
  const { as: name, id } = options;
  const tenant = tenantId(options.tenant ?? DEFAULT_TENANT);
  const onError = outlivedReporter(terminal);
  const desk = await openToRun({ target, name, input, modules, cwd, works: false, onError, isTakeover: false });
  try {
    const imported = await importFiles({
      folder: path.resolve(cwd, folder),
      pipeline: { name, stepNames },
      id,
      back: { remember: (_subject, writes) => desk.memory.writeRecords(tenant, writes) },
      start: async (run) => void (await desk.start({ definition: name, input, id: run, tenant })),
      find: findSecrets,
      onReport: reporter(session),
    });
    const { id: run, done, keyCount, handoffCount } = imported;
    terminal.document({ workflow: run, done, keys: keyCount, handoffs: handoffCount });
    terminal.line(run);
    const steps = done.length === 0 ? 'no step' : done.map(printable).join(', ');
    terminal.note(`Done in it: ${steps}; tidemark run ${name} --id ${shellWord(run)} goes on with it.`);
    return EXIT.ok;
  } finally {
    await desk.close();
  }
}

function shownIn({ run, newest, tenant }: ShownOptions): Shown {
  if (run !== undefined) return { workflow: run };
  if (newest !== undefined) return { definition: newest, tenant: tenantId(tenant ?? DEFAULT_TENANT) };
  throw new UsageError('name a run with --run ID, or a workflow with --newest NAME; tidemark files --help shows how');
}

const wordsOf = (shown: Shown): string =>
  'workflow' in shown ? printable(shown.workflow) : `the newest run of ${printable(shown.definition)}`;

function targetThere({ env, cwd }: Session, { state }: ShownOptions): Target {
  const target = targetOf(state, env, cwd);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  return target;
}

async function viewOptions(
  session: Session,
  desk: Desk,
  folder: string,
  shown: Shown,
  { workflows = [] }: ShownOptions,
): Promise<ExportOptions> {
  const row = 'workflow' in shown ? await requireWorkflow(desk, shown.workflow) : undefined;
  const definition = 'definition' in shown ? shown.definition : row?.definition;
  const given = workflows.length === 0 ? [] : (await readDefinitions(workflows, session.cwd)).map(cardOf);
  const card = [...given, ...(await desk.definitions())].find(({ name }) => name === definition);
  const tenant = row?.tenant ?? ('definition' in shown ? shown.tenant : undefined) ?? DEFAULT_TENANT;
  return {
    source: desk.reads,
    shown,
    folder: path.resolve(session.cwd, folder),
    stepNames: card === undefined ? undefined : Object.keys(card.flow),
    records: async (subject, prefix) => {
      const query = { tenant, subject, kind: 'record', prefix, limit: RECORDS_MAX_COUNT } as const;
      return (await desk.reads.memories(query)).map(({ key, value, atMs }) => ({
        key,
        value: JSON.parse(value) as unknown,
        atMs,
      }));
    },
    back: wayBack(desk, tenant),
    find: findSecrets,
    onReport: reporter(session),
  };
}

const wayBack = (desk: Desk, tenant: TenantId): WayBack => ({
  signal: (workflow, name, value, { key }) => desk.signal(workflow, name, value, { key, isOwn: true }),
  remember: (_subject, writes) => desk.memory.writeRecords(tenant, writes),
});

/** What came back is news, all else a warning. */
const reporter =
  ({ terminal }: Session) =>
  ({ kind, message }: FilesReport): void => {
    terminal.record({ type: kind, message });
    if (kind === 'taken' || kind === 'archived') terminal.note(`${kind}: ${printable(message)}`);
    else terminal.warn(printable(message));
  };
