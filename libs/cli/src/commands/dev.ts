/**
 * Owns `tidemark dev`: coordinator and worker in one process on a folder, live lines of what happens, and the socket through
 * which other commands on the folder are answered meanwhile.
 */

import type { Listening } from '@tidemark/api';
import { cardOf } from '@tidemark/api/shapes';
import { ConfigError, FencedError, messageOf } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { WorkflowSummary } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import { traceSettings } from '@tidemark/traces';
import { outlivedReporter } from '../failures.ts';
import type { Change } from '../follow/change.ts';
import { Follower } from '../follow/follower.ts';
import { changeJson, Narrator } from '../follow/words.ts';
import { DRAIN_MS, PARKED_SHOWN_COUNT } from '../limits.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { readDefinitions } from '../state/definitions.ts';
import { DEFAULT_FOLDER, type News } from '../state/desk.ts';
import { HostDesk } from '../state/host-desk.ts';
import { type Folder, holdFolder, shareFolder, targetOf } from '../state/open-desk.ts';
import { serveSocket } from '../state/socket-server.ts';
import { progressBar } from '../text/progress.ts';
import { shellWord, showCommand } from '../text/shell.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface DevOptions {
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
  readonly concurrency: number;
  /** Where traces are exported to. */
  readonly otlp?: string | undefined;
  /** Of the HTTP API; absent: the usual one, or any where that is taken. */
  readonly port?: number | undefined;
}

export async function dev(session: Session, options: DevOptions): Promise<number> {
  const { terminal, env, cwd } = session;
  const definitions = await readDefinitions(options.workflows ?? [], cwd);
  // Always a folder, also where the environment names a cluster: its services do this there.
  const found = targetOf(options.state, { ...env, TIDEMARK_KAFKA_BROKERS: undefined }, cwd) as Folder;
  const target = options.otlp === undefined ? found : { ...found, traces: traceSettings(env, options.otlp) };
  if (env.TIDEMARK_KAFKA_BROKERS !== undefined && options.state === undefined) {
    terminal.note(`TIDEMARK_KAFKA_BROKERS is set, but dev keeps its state in a folder; the cluster is left alone.`);
  }
  const interruption = takeInterrupts(session);
  const onError = devReporter(session);
  const desk = await shareFolder(target, () => holdFolder(target, { definitions, onError }));
  if (!(desk instanceof HostDesk)) {
    const { place } = desk;
    await desk.close();
    throw inUse(target, place.kind === 'embedded' ? place.holder : null);
  }
  try {
    const server = await serveSocket(desk, target.folder, 'dev');
    desk.closeFirst(() => server.close());
    const api = await serveApi(desk, definitions, options.port, onError);
    desk.closeFirst(() => api.close());
    const follower = new Follower({ crowds: !terminal.json });
    const open = (await follower.baseline(desk)).filter((row) => row.status === 'open');
    const parked = await desk.reads.workflows({ status: 'parked', limit: PARKED_SHOWN_COUNT });
    const cards = definitions.map(cardOf);
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
    for (const card of cards) for (const warning of card.warnings) tellWarning(session, card.name, warning);
    terminal.note(
      readyWords(
        session,
        target,
        cards,
        { openCount: open.length, api: api.url },
        parked.map((row) => waitingWords(row, options.state)),
      ),
    );
    const unfinished = new Map(open.map((row) => [row.workflow as string, row.definition]));
    const narrator = new Narrator(terminal.paint, { showsWorkflow: true });
    const tell = (change: Parameters<Narrator['line']>[0]): void => {
      terminal.record(changeJson(change));
      terminal.line(narrator.line(change));
    };
    await desk.onNews((news) => {
      follower.news(news);
      hear(news, unfinished, terminal, tell);
    });
    await desk.startWorker(options.concurrency, onError);
    for await (const change of follower.changes(desk, interruption.signal)) tell(change);
    terminal.note('Handing over; Ctrl-C again leaves at once.');
    await desk.close(DRAIN_MS);
    terminal.note('Stopped. Unfinished workflows go on from their last checkpoints next time.');
    terminal.record({ type: 'stopped' });
    return EXIT.ok;
  } finally {
    await desk.close();
    interruption.release();
  }
}

/** The HTTP API and the console, for this machine alone. */
async function serveApi(
  { host }: HostDesk,
  definitions: readonly Definition[],
  port: number | undefined,
  onError: (where: string, error: unknown) => void,
): Promise<Listening> {
  // Other commands are not to load a web server.
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
  });
}

/** The first claim of a workflow that was there before is a resumption; what is only claimed again is no news. */
function hear(
  news: News,
  unfinished: Map<string, string>,
  terminal: Session['terminal'],
  tell: (change: Change) => void,
): void {
  if (news.type === 'progress') {
    terminal.status(`${printable(news.workflow)}  ${progressBar(news)}`);
    return;
  }
  if (news.type !== 'claimed') return;
  const { workflow, sequence } = news;
  const definition = unfinished.get(workflow);
  unfinished.delete(workflow);
  if (definition !== undefined) tell({ type: 'resumed', workflow, definition, sequence, atMs: Date.now() });
}

function devReporter(session: Session): (where: string, error: unknown) => void {
  const report = outlivedReporter(session.terminal);
  return (where, error) => {
    // The line of the workflow itself tells it.
    if (error instanceof FencedError && error.code === 'parked') return;
    const message = messageOf(error);
    session.terminal.record({ type: 'warning', where, message });
    report(where, error);
  };
}

function tellWarning({ terminal }: Session, where: string, message: string): void {
  terminal.record({ type: 'warning', where, message });
  terminal.warn(`${where}: ${message}`);
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

/** What was left to a person before says so again. */
const waitingWords = ({ workflow, reason }: WorkflowSummary, state: string | undefined): string =>
  `  waits   ${printable(workflow)} for a person (${printable(reason ?? '')}): ${printable(showCommand(workflow, state))} tells how to answer`;

function inUse(target: Folder, holder: { readonly pid: number; readonly command: string } | null): ConfigError {
  const who = holder === null ? 'another process' : `process ${holder.pid} (tidemark ${holder.command})`;
  const message = `${target.shown} is in use by ${who}. End it first, or use another folder (--state); run, ls, show and watch work beside it.`;
  return new ConfigError('log-locked', message, { pid: holder?.pid });
}
