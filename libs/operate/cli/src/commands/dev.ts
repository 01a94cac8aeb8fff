/**
 * Owns `tidemark dev`: coordinator, worker and compactor in one process on a folder, live lines of what happens, and the socket that
 * answers other commands on the folder meanwhile.
 */

import path from 'node:path';
import type { Listening } from '@tidemark/api';
import type { Workflow } from '@tidemark/client';
import { ConfigError, FencedError, isoTime, messageOf } from '@tidemark/core';
import { watchSource } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { type ModelChunk, unlistedWarnings } from '@tidemark/runtime';
import { readDefinitions } from '../definitions.ts';
import { outlivedReporter } from '../failures.ts';
import { type Change, recordOf, resumed } from '../follow/change.ts';
import { FleetFollower } from '../follow/follower.ts';
import { Narrator } from '../follow/words.ts';
import { DRAIN_MS, HOLDER_POLL_MS, TURNS_WAIT_MS } from '../limits.ts';
import { DEFAULT_FOLDER, type Folder, folderTarget, isInUse } from '../place/folder.ts';
import { HeldFolder, holdNoticed, noteStaysPlain } from '../place/held-folder.ts';
import { holderPlace, ownName, ownPlace, placeOr } from '../place/place.ts';
import type { RunningOptions } from '../program/running-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { progressBar } from '../text/progress.ts';
import { shellWord, showCommand } from '../text/shell.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

/** Waiting workflows that `dev` names at its start. */
const PARKED_SHOWN_COUNT = 10;

export async function dev(session: Session, options: RunningOptions['dev']): Promise<number> {
  const { terminal, env, cwd } = session;
  const definitions = await readDefinitions(options.workflows, cwd);
  // Always a folder, also where the environment names a cluster: there its services do this.
  const target = folderTarget(options.state ?? DEFAULT_FOLDER, session);
  if (env.TIDEMARK_KAFKA_BROKERS !== undefined && options.state === undefined) {
    terminal.note(`TIDEMARK_KAFKA_BROKERS is set, but dev keeps its state in a folder; the cluster is not used.`);
  }
  const interruption = takeInterrupts(session);
  const onError = devReporter(session);
  const name = ownName(env);
  const { otlp } = options;
  // Loaded while the folder opens.
  import('@tidemark/api').catch(() => {});
  const hold = () => holdNoticed(session, target, { definitions, onError, otlp });
  const held = await holdInTurn(session, target, hold, interruption.signal);
  if (held === undefined) return EXIT.interrupted;
  try {
    noteStaysPlain(session, held);
    const reportChange = (file: string): void =>
      reportWarning(
        session,
        path.relative(cwd, file),
        'it has changed, and the code that was loaded keeps running; to run the new code, press Ctrl-C and start again',
      );
    held.closeFirst(await watchSource(definitions, reportChange));
    held.startCompactor(onError);
    await held.serve('dev', onError);
    const api = await serveApi(held, options.port, onError);
    held.closeFirst(api);
    // It follows events over the folder's socket, as other commands do.
    const { client } = await ownPlace(target, name);
    const follower = new FleetFollower();
    const open = (await follower.baseline(client)).filter(({ status }) => status === 'open');
    const { workflows: parked } = await client.list({ status: 'parked', limit: PARKED_SHOWN_COUNT });
    const { definitions: cards } = await client.ask('GET /v1/definitions', {});
    if (api.isElsewhere) terminal.warn(`another process has the usual port: the API is at ${api.url} instead`);
    terminal.record({
      type: 'ready',
      state: target.folder,
      pid: process.pid,
      api: api.url,
      workflows: cards.map(({ name, version }) => ({ definition: name, definition_version: version })),
      open_count: open.length,
      parked: parked.map(({ workflow, reason }) => ({ workflow, reason })),
    });
    for (const card of cards) for (const warning of card.warnings) reportWarning(session, card.name, warning);
    for (const warning of unlistedWarnings(definitions)) reportWarning(session, 'effects', warning);
    const waiting = parked.map((row) => waitingWords(row, options.state));
    terminal.note(readyWords(session, target, cards, { openCount: open.length, api: api.url }, waiting));
    const unfinished = new Map(open.map(({ workflow, definition }) => [workflow, definition]));
    const narrator = new Narrator(terminal.paint, { showsWorkflow: true, at: options });
    const report = (change: Change): void => {
      terminal.record(recordOf(change));
      terminal.line(narrator.line(change));
    };
    await held.startWorker({
      onError,
      onDelta: (reported) => hear(reported, session),
      // The first claim of an existing workflow is a resumption; a repeated claim is no news.
      onResume({ workflow, sequence }) {
        const definition = unfinished.get(workflow);
        unfinished.delete(workflow);
        const at = isoTime(Date.now());
        if (definition !== undefined) report(resumed({ workflow, definition }, at, sequence));
      },
    });
    const { signal } = interruption;
    for await (const change of follower.changes({ client, signal, crowds: !terminal.json })) report(change);
    terminal.note('Handing over; Ctrl-C again stops at once.');
    await held.close(DRAIN_MS);
    terminal.note('Stopped. Unfinished workflows resume from their last checkpoints next time.');
    terminal.record({ type: 'stopped' });
    return EXIT.ok;
  } finally {
    await held.close();
    interruption.release();
  }
}

/**
 * Holds the folder, once a command that has it meanwhile has ended; people hear of the wait. Undefined: interrupted first. Throws
 * `ConfigError` (`log-locked`) where another `dev` has it, or a program that answers nobody for `TURNS_WAIT_MS`.
 */
async function holdInTurn(
  session: Session,
  target: Folder,
  hold: () => Promise<HeldFolder>,
  signal: AbortSignal,
): Promise<HeldFolder | undefined> {
  const name = ownName(session.env);
  const named = new Set<number | undefined>();
  const reportWait = (pid: number | undefined, command?: string): void => {
    if (named.has(pid)) return;
    named.add(pid);
    const message = `${processWords(pid, command)} has this folder; dev begins when it ends (Ctrl-C ends the wait)`;
    reportWarning(session, target.shown, message);
  };
  const patience = { waitMs: TURNS_WAIT_MS, signal, onBusy: reportWait };
  for (;;) {
    const found = await placeOr(target, name, hold, patience).catch((error: unknown) => {
      if (signal.aborted && isInUse(error)) return undefined;
      throw error;
    });
    if (found === undefined || found instanceof HeldFolder) return found;
    const { holder } = found;
    // Another `dev` ends when somebody ends it.
    if (holder === null || holder.command === 'dev') throw inUse(target, holder);
    reportWait(holder.pid, holder.command);
    while ((await holderPlace(target, name)) !== undefined) {
      if (signal.aborted) return undefined;
      await new Promise((resolve) => setTimeout(resolve, HOLDER_POLL_MS));
    }
  }
}

const processWords = (pid: number | undefined, command: string | undefined): string =>
  pid === undefined ? 'another process' : `process ${pid}${command === undefined ? '' : ` (tidemark ${command})`}`;

function hear({ workflow, delta }: ModelChunk, session: Session): void {
  const { terminal } = session;
  if (delta.kind === 'progress') terminal.status(`${printable(workflow)}  ${progressBar(delta)}`);
  if (delta.kind === 'wait') reportWarning(session, workflow, delta.text);
}

/** The HTTP API and the console, for this machine alone. */
async function serveApi(
  { host, definitions }: HeldFolder,
  port: number | undefined,
  onError: (where: string, error: unknown) => void,
): Promise<Listening> {
  // Other commands must not load a web server.
  const { builtConsole, DEFAULT_PORT, LOOPBACK_HOSTS, listenApi, localAuthenticator } = await import('@tidemark/api');
  return listenApi({
    place: host,
    definitions,
    authenticator: localAuthenticator,
    hosts: LOOPBACK_HOSTS,
    host: '127.0.0.1',
    port: port ?? DEFAULT_PORT,
    orAnyPort: port === undefined,
    consoleFolder: builtConsole(),
    onError,
  }).catch((error: unknown) => {
    if (!(error instanceof ConfigError) || error.code !== 'port-taken') throw error;
    const message = `--port: port ${port} is taken by another process. Give another one, or leave --port out: any free one is taken then.`;
    throw new ConfigError(error.code, message, { port, cause: error });
  });
}

function devReporter(session: Session): (where: string, error: unknown) => void {
  const report = outlivedReporter(session.terminal);
  return (where, error) => {
    // The workflow's own line reports it.
    if (error instanceof FencedError && error.code === 'parked') return;
    const message = messageOf(error);
    session.terminal.record({ type: 'warning', where, message });
    report(where, error);
  };
}

function reportWarning({ terminal }: Session, where: string, message: string): void {
  terminal.record({ type: 'warning', where, message });
  terminal.warn(`${printable(where)}: ${printable(message)}`);
}

function readyWords(
  { terminal }: Session,
  target: Folder,
  cards: readonly { readonly name: string; readonly version: number }[],
  { openCount, api }: { readonly openCount: number; readonly api: string },
  waiting: readonly string[],
): string {
  const names = cards.map(({ name, version }) => `${name} v${version}`).join(', ');
  const open = openCount === 0 ? 'nothing unfinished' : `${counted(openCount, 'workflow')} unfinished`;
  const words = [
    `${terminal.paintNote('bold', 'tidemark dev')}  state in ${target.shown}, ${open}`,
    `  runs    ${names}`,
    `  start   tidemark run NAME --input JSON${target.shown === DEFAULT_FOLDER ? '' : ` --state ${shellWord(target.shown)}`}`,
    `  api     ${api}`,
    `  stop    Ctrl-C`,
    ...waiting,
    '',
  ];
  return words.join('\n');
}

/** Repeats questions that still wait for a person. */
const waitingWords = ({ workflow, reason }: Workflow, state: string | undefined): string =>
  `  waits   ${printable(workflow)} for a person (${printable(reason ?? '')}): ${printable(showCommand(workflow, { state }))} says how to answer`;

function inUse(target: Folder, holder: { readonly pid: number; readonly command: string } | null): ConfigError {
  const message = `${target.shown} is in use by ${processWords(holder?.pid, holder?.command)}. End it first, or use another folder (--state); run, ls, show and watch work beside it.`;
  return new ConfigError('log-locked', message, { pid: holder?.pid });
}
