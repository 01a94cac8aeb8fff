/**
 * Owns the life of one native server: start, crash, restart, stop. Must know nothing about any one server; a recipe has its particulars.
 * Invariant: after `stop` neither process nor folder is left.
 */
import { endLog, noteLog } from '../evidence.ts';
import { freePort } from './free-port.ts';
import { startAttemptsMax } from './limits.ts';
import {
  logFileOf,
  makeServerFolder,
  type NativeCommand,
  type NativeProcess,
  type Owner,
  removeServerFolder,
  startNativeProcess,
  waitUntilReady,
} from './native-process.ts';
import type { DataIn, NativeServer, ServerKind } from './server.ts';

export interface NativeRecipe {
  readonly kind: ServerKind;
  /** How many ports it needs; the first is its address. */
  readonly portCount: number;
  /** The user that the process runs as and that owns the folder. */
  readonly owner?: Owner | undefined;
  address(port: number): string;
  /** Fills the empty folder (configuration, formatted data) and returns what to run; also called by every new attempt. */
  prepare(folder: string, ports: readonly number[]): Promise<NativeCommand>;
  /** Rejects while the server does not answer. */
  ping(port: number): Promise<unknown>;
}

export async function startNativeServer(recipe: NativeRecipe, dataIn: DataIn): Promise<NativeServer> {
  for (let attempt = 1; ; attempt++) {
    const folder = await makeServerFolder(recipe.kind, dataIn, recipe.owner);
    try {
      return await startIn(recipe, folder);
    } catch (error) {
      await removeServerFolder(folder);
      if (attempt === startAttemptsMax || !isPortTaken(error)) throw error;
    }
  }
}

function isPortTaken(error: unknown): boolean {
  return /address (is )?already in use|EADDRINUSE/i.test(String(error));
}

async function startIn(recipe: NativeRecipe, folder: string): Promise<NativeServer> {
  const ports = await freePorts(recipe.portCount);
  const port = ports[0] ?? 0;
  const command = await recipe.prepare(folder, ports);
  const launch = async (): Promise<NativeProcess> => {
    const started = await startNativeProcess(command);
    try {
      await waitUntilReady(started, folder, () => recipe.ping(port));
    } catch (error) {
      await started.end();
      throw error;
    }
    return started;
  };
  let running: NativeProcess | undefined = await launch();
  const log = logFileOf(folder);
  noteLog(recipe.kind, log);
  const kill = async (): Promise<void> => {
    const victim = running;
    running = undefined;
    await victim?.end();
  };
  return {
    kind: recipe.kind,
    address: recipe.address(port),
    source: 'native',
    folder,
    get pid() {
      return running?.pid;
    },
    kill,
    async startAgain() {
      running ??= await launch();
    },
    async stop() {
      await kill();
      endLog(log);
      await removeServerFolder(folder);
    },
  };
}

async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
