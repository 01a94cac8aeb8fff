/**
 * Owns `tidemark files export`, `mirror` and `import`: a run as plain files, wherever it is. A mirror holds a state folder only during a
 * pass, so that others can run workflows there, and the folder of its files as long as it lives.
 */

import path from 'node:path';
import { type Client, TidemarkApiError } from '@tidemark/client';
import { DEFAULT_TENANT, InvalidError } from '@tidemark/core';
import {
  type ExportOptions,
  exportFiles,
  type FilesFolder,
  type FilesReport,
  importFiles,
  type Mirror,
  mirrorFiles,
  openFolder,
  type Shown,
  type WayBack,
} from '@tidemark/files';
import { EXIT } from '@tidemark/host/exit-codes';
import { pipelineSteps } from '@tidemark/sdk';
import { findSecrets } from '@tidemark/secrets';
import { pick, readDefinitions } from '../definitions.ts';
import { UsageError } from '../failures.ts';
import { readInput } from '../input.ts';
import { failureOf } from '../place/api-failure.ts';
import { exists } from '../place/folder.ts';
import { firstOf } from '../place/pages.ts';
import { atPlace, awaitHolder, lastingPlace, openPlace, type Place, type Target, targetOf } from '../place/place.ts';
import { type Turn, takeTurn } from '../place/turn.ts';
import type { FilesOptions } from '../program/files-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { atWords, commandLine } from '../text/shell.ts';
import { printable } from '../text/width.ts';

/** Records that are read, page by page, at most. */
const RECORDS_MAX_COUNT = 1_000;

export function filesExport(session: Session, folder: string, options: FilesOptions['export']): Promise<number> {
  const asked = selectionOf(options);
  const definitions = modulesOf(session, options);
  return atPlace(session, { ...options, how: 'read', definitions }, async ({ client }) => {
    const view = await exportFiles(await viewOptions({ session, folder, asked, options }, client));
    const { terminal } = session;
    terminal.answer({ workflow: view.workflow, status: view.status, folder: path.resolve(session.cwd, folder) });
    terminal.line(`${printable(view.workflow)}  ${view.status}  in ${printable(folder)}`);
    return EXIT.ok;
  });
}

export async function filesMirror(session: Session, folder: string, options: FilesOptions['export']): Promise<number> {
  const asked = selectionOf(options);
  const target = await targetOf(options, session);
  const interruption = takeInterrupts(session);
  const mirroring: Mirroring = { session, target, folder, asked, options, signal: interruption.signal };
  try {
    if (target.kind === 'embedded') mirroring.turn = await takeTurn(target.folder, 'mirror');
    session.terminal.record({ type: 'mirroring', folder: path.resolve(session.cwd, folder), ...asked });
    session.terminal.note(`Mirrors ${wordsOf(asked)} in ${printable(folder)}; Ctrl-C stops.`);
    while (!interruption.signal.aborted) await mirrorOnce(mirroring, modulesOf(session, options));
    return EXIT.ok;
  } catch (error) {
    throw failureOf(error);
  } finally {
    await mirroring.turn?.end();
    await mirroring.files?.close();
    interruption.release();
  }
}

interface Viewing {
  readonly session: Session;
  readonly folder: string;
  readonly asked: RunSelection;
  readonly options: FilesOptions['export'];
}

interface Mirroring extends Viewing {
  readonly target: Target;
  readonly signal: AbortSignal;
  /** Of a state folder: whoever holds that runs no step before this one has taken what others wrote until then. */
  turn?: Turn;
  files?: FilesFolder;
}

async function mirrorOptions(mirroring: Mirroring, client: Client): Promise<ExportOptions> {
  const options = await viewOptions(mirroring, client);
  mirroring.files ??= await openFolder(options.folder as string);
  return { ...options, folder: mirroring.files };
}

/** Uses the process that holds the state, as long as one does; otherwise runs one pass, where anything is kept, and then waits for one. */
async function mirrorOnce(mirroring: Mirroring, definitions: ReturnType<typeof modulesOf>): Promise<void> {
  const { session, target, asked, signal } = mirroring;
  const place = await lastingPlace(session, target);
  if (place !== undefined) return mirrorThrough(mirroring, place);
  if (target.kind !== 'embedded' || exists(target)) {
    const idle = await openPlace(session, target, { definitions });
    try {
      await exportFiles(await mirrorOptions(mirroring, idle.client));
    } catch (error) {
      // The first run of a workflow may be yet to come.
      const isYetToCome = 'newest' in asked && error instanceof InvalidError && error.code === 'workflow-unknown';
      if (!isYetToCome) throw error;
    } finally {
      await idle.close();
    }
  }
  session.terminal.record({ type: 'waiting', for: 'tidemark dev or run' });
  const found = await awaitHolder(session, target, signal);
  if (found !== undefined) await mirrorThrough(mirroring, found);
}

async function mirrorThrough(mirroring: Mirroring, place: Place): Promise<void> {
  const { signal } = mirroring;
  const { client, kind } = place;
  const ending = new AbortController();
  const { promise: gone, resolve: end } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => end(), { signal: ending.signal });
  let mirror: Mirror | undefined;
  try {
    mirror = await mirrorFiles({
      ...(await mirrorOptions(mirroring, client)),
      onTaken: (beganAtMs) => void mirroring.turn?.renew(beganAtMs),
      // These are hints: the mirror's own period makes up for lost ones.
      subscribe: async (listener) => {
        void hints(client, listener, { signal: ending.signal, onLost: () => kind === 'folder' && end() });
        return () => ending.abort();
      },
    });
    await Promise.race([gone, mirror.ended]);
    await mirror.close();
  } catch (error) {
    // The last pass finds no holder: the next round opens the state itself.
    const isGone = kind === 'folder' && error instanceof TidemarkApiError && error.status === 0;
    if (!isGone) throw error;
  } finally {
    ending.abort();
    await place.close();
  }
}

async function hints(client: Client, listener: () => void, how: Parameters<Client['changes']>[0]): Promise<void> {
  try {
    for await (const _ of client.changes(how)) listener();
  } catch {
    // A caller that may not follow still polls.
  }
}

export async function filesImport(session: Session, folder: string, options: FilesOptions['import']): Promise<number> {
  const { cwd, terminal } = session;
  const { as: name, id, tenant, workflows } = options;
  const definitions = async () => {
    const known = await readDefinitions(workflows, cwd);
    stepsOf(known, name, 'in the given modules (--workflows)');
    return known;
  };
  const input = await readInput(options.input, session);
  return atPlace(session, { ...options, how: 'write', definitions }, async ({ client, shown }) => {
    const served = await client.ask('GET /v1/definitions', {});
    const stepNames = stepsOf(
      served.definitions,
      name,
      `in what runs on ${shown} (tidemark dev --workflows FILE runs more)`,
    );
    const { id: run, ...imported } = await importFiles({
      folder: path.resolve(cwd, folder),
      pipeline: { name, stepNames },
      ...{ id, input },
      outside: outsideOf(session, options),
      back: wayBack(client, tenant),
      start: async (wanted) =>
        void (await client.start(name, input, { id: wanted, ...(tenant !== undefined && { tenant }) })),
      find: findSecrets,
      onReport: reporter(session),
    });
    const { done, keyCount, handoffCount } = imported;
    terminal.answer({ workflow: run, done, keys: keyCount, handoffs: handoffCount });
    terminal.line(run);
    const steps = done.length === 0 ? 'no step' : done.map(printable).join(', ');
    const modules = workflows.flatMap((module) => ['--workflows', module]);
    const next = commandLine('tidemark', 'run', name, '--id', run, ...atWords(options), ...modules);
    terminal.note(`Done in it: ${steps}; ${next} continues it.`);
    return EXIT.ok;
  });
}

/** Throws `InvalidError` (`workflow-unknown`, `not-a-pipeline`). */
function stepsOf(found: readonly Named[], name: string, where: string): readonly string[] {
  const stepNames = pipelineSteps(pick(found, name, where));
  if (stepNames !== undefined) return stepNames;
  const message = `${name} is not a pipeline: files can mark only a pipeline's steps as done.`;
  throw new InvalidError('not-a-pipeline', message, { definition: name });
}

type Named = Parameters<typeof pipelineSteps>[0] & { readonly name: string };

type RunSelection = { readonly run: string } | { readonly newest: string; readonly tenant: string | undefined };

function selectionOf({ run, newest, tenant }: FilesOptions['export']): RunSelection {
  if (run !== undefined) return { run };
  if (newest !== undefined) return { newest, tenant };
  throw new UsageError('name a run with --run ID, or a workflow with --newest NAME; tidemark files --help shows how');
}

const outsideOf = ({ cwd }: Session, { outputs }: Pick<FilesOptions['import'], 'outputs'>) =>
  outputs?.map((each) => path.resolve(cwd, each));

const wordsOf = (asked: RunSelection): string =>
  'run' in asked ? printable(asked.run) : `the newest run of ${printable(asked.newest)}`;

const modulesOf =
  ({ cwd }: Session, { workflows }: FilesOptions['export']) =>
  async () =>
    workflows.length === 0 ? [] : readDefinitions(workflows, cwd);

async function viewOptions({ session, folder, asked, options }: Viewing, client: Client): Promise<ExportOptions> {
  const named = await namedBy(client, asked);
  const { definitions } = await client.ask('GET /v1/definitions', {});
  const card = definitions.find(({ name }) => name === named.definition);
  return {
    client,
    shown: 'run' in asked ? { workflow: asked.run } : named,
    folder: path.resolve(session.cwd, folder),
    outside: outsideOf(session, options),
    stepNames: card === undefined ? undefined : Object.keys(card.flow),
    records: async (subject, prefix) => {
      const { items } = await firstOf(
        RECORDS_MAX_COUNT,
        (page) =>
          client.ask('GET /v1/records/{subject}', {
            params: { subject },
            query: { ...page, prefix, tenant: named.tenant },
          }),
        ({ records }) => records,
      );
      return items;
    },
    back: wayBack(client, named.tenant),
    find: findSecrets,
    onReport: reporter(session),
  };
}

/** The run's tenant and definition. */
async function namedBy(client: Client, asked: RunSelection): Promise<Extract<Shown, { readonly definition: string }>> {
  if ('run' in asked) return client.run(asked.run).get({ content: false });
  const { tenant } = await client.ask('GET /v1/me', {});
  return { definition: asked.newest, tenant: asked.tenant ?? tenant ?? DEFAULT_TENANT };
}

const wayBack = (client: Client, tenant: string | undefined): WayBack => ({
  signal: (workflow, name, value, how) => client.run(workflow).signal(name, value, how),
  remember: (subject, records) =>
    client.ask(
      'POST /v1/records/{subject}',
      { params: { subject }, query: { tenant }, body: { records } },
      { isRepeatable: true },
    ),
});

/** Something taken over is news, all else a warning. */
const reporter =
  ({ terminal }: Session) =>
  ({ kind, message }: FilesReport): void => {
    terminal.record({ type: kind, message });
    if (kind === 'taken' || kind === 'archived') terminal.note(`${kind}: ${printable(message)}`);
    else terminal.warn(printable(message));
  };
