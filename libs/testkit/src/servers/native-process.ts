/**
 * Owns this process's side of the keeper: starting, ending and watching native server processes and their folders.
 * Must know nothing about any one server. Invariant: what is started here ends with this process, however it ends
 * (see keeper.ts), and keeps no event loop alive while nobody waits for it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { UnavailableError } from '@tidemark/core';
import type { KeeperCommand, KeeperReport, KeptCommand } from './keeper.ts';
import {
  endGraceMs,
  logTailLines,
  memoryFolderFreeMinBytes,
  readyPollMs,
  serverStartTimeoutMs,
  testFilesFreeMinBytes,
} from './limits.ts';
import type { DataIn } from './server.ts';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface NativeCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly owner?: Owner | undefined;
  readonly endSignal?: 'SIGKILL' | 'SIGQUIT';
}

export interface NativeProcess {
  readonly pid: number;
  /** Settles when the process has ended, with how it ended in words. Never rejects. */
  readonly exited: Promise<string>;
  /** Sends the end signal and resolves when the process is gone. */
  end(): Promise<void>;
}

interface Pending {
  readonly started: PromiseWithResolvers<number>;
  readonly exited: PromiseWithResolvers<string>;
}

class Keeper {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  /** Callbacks for reports about a folder: that it is owned, that it is removed. */
  readonly #folders = new Map<string, PromiseWithResolvers<void>>();
  #nextId = 1;
  #waiters = 0;

  constructor() {
    this.#child = spawn(process.execPath, [fileURLToPath(new URL('./keeper.ts', import.meta.url))], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.once('exit', () => this.#lost());
    this.#child.once('error', () => this.#lost());
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#hear(JSON.parse(line)));
    }
    this.#holdLoop(false);
  }

  /** Resolves when the keeper will remove the folder, whatever happens to this process. */
  async own(folder: string): Promise<void> {
    await this.#askAbout(folder, { do: 'own', folder });
  }

  async remove(folder: string): Promise<void> {
    await this.#askAbout(folder, { do: 'remove', folder });
  }

  async start(command: KeptCommand): Promise<NativeProcess> {
    const id = this.#nextId++;
    const pending: Pending = { started: Promise.withResolvers(), exited: Promise.withResolvers() };
    this.#pending.set(id, pending);
    this.#send({ do: 'start', id, ...command });
    const pid = await this.#awaited(pending.started.promise);
    const end = async (): Promise<void> => {
      this.#send({ do: 'end', id });
      await this.#awaited(pending.exited.promise);
    };
    return { pid, exited: pending.exited.promise, end };
  }

  async #askAbout(folder: string, command: KeeperCommand): Promise<void> {
    const answer = Promise.withResolvers<void>();
    this.#folders.set(folder, answer);
    this.#send(command);
    await this.#awaited(answer.promise);
  }

  #send(command: KeeperCommand): void {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
  }

  #hear(report: KeeperReport): void {
    if (report.report === 'removed' || report.report === 'owned') {
      this.#folders.get(report.folder)?.resolve();
      this.#folders.delete(report.folder);
      return;
    }
    const pending = this.#pending.get(report.id);
    if (pending === undefined) return;
    if (report.report === 'started') {
      pending.started.resolve(report.pid);
      return;
    }
    this.#pending.delete(report.id);
    const how = report.report === 'failed' ? report.message : `exit code ${report.code}, signal ${report.signal}`;
    pending.started.reject(new UnavailableError('test-server-start', how));
    pending.exited.resolve(how);
  }

  /** The keeper itself was killed: nobody may wait for its reports forever. */
  #lost(): void {
    const error = new UnavailableError('test-server-keeper', 'the keeper process of the test servers is gone');
    for (const { started, exited } of this.#pending.values()) {
      started.reject(error);
      exited.resolve(error.message);
    }
    for (const folder of this.#folders.values()) folder.reject(error);
    this.#pending.clear();
    this.#folders.clear();
    if (keeper === this) keeper = undefined;
  }

  async #awaited<T>(promise: Promise<T>): Promise<T> {
    if (++this.#waiters === 1) this.#holdLoop(true);
    try {
      return await promise;
    } finally {
      if (--this.#waiters === 0) this.#holdLoop(false);
    }
  }

  #holdLoop(hold: boolean): void {
    const method = hold ? 'ref' : 'unref';
    this.#child[method]();
    for (const stream of [this.#child.stdin, this.#child.stdout]) {
      (stream as unknown as { ref(): void; unref(): void } | null)?.[method]();
    }
  }
}

/** One keeper for all servers of this process, started with the first. */
let keeper: Keeper | undefined;

function theKeeper(): Keeper {
  keeper ??= new Keeper();
  return keeper;
}

export async function startNativeProcess(command: NativeCommand): Promise<NativeProcess> {
  return await theKeeper().start({
    command: command.command,
    args: command.args,
    env: command.env ?? {},
    cwd: command.folder,
    logFile: logFileOf(command.folder),
    ...(command.owner === undefined ? {} : { owner: command.owner }),
    endSignal: command.endSignal ?? 'SIGKILL',
    endGraceMs,
  });
}

/** Creates an empty folder for one server's data, removed with this process at the latest. */
export async function makeServerFolder(kind: string, dataIn: DataIn, owner?: Owner): Promise<string> {
  const folder = await makeOwnedFolder(kind, dataParent(dataIn, memoryFolderFreeMinBytes), 0o700);
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/**
 * Creates an empty folder for the files of tests, removed with this process at the latest. In memory where they fit: tests create and delete
 * tens of thousands of files, and ext4 passes over each number of a file that was deleted within minutes when it creates the next.
 */
export const makeTestsFolder = (): Promise<string> =>
  // Servers of other users pass through it to what is theirs.
  makeOwnedFolder('tests', dataParent('memory', testFilesFreeMinBytes), 0o711);

async function makeOwnedFolder(kind: string, parent: string, mode: number): Promise<string> {
  const folder = path.join(parent, `tidemark-${kind}-${randomBytes(6).toString('hex')}`);
  await theKeeper().own(folder);
  mkdirSync(folder, { mode });
  return folder;
}

export async function removeServerFolder(folder: string): Promise<void> {
  await theKeeper().remove(folder);
}

/** Within tests, the usual place is in memory. */
const DISK = process.platform === 'linux' ? '/tmp' : tmpdir();

/** Containers often have a tiny /dev/shm: memory is used only where the data fits. */
function dataParent(dataIn: DataIn, freeMinBytes: number): string {
  if (dataIn === 'disk' || process.platform !== 'linux') return DISK;
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize >= freeMinBytes ? '/dev/shm' : DISK;
  } catch {
    return DISK;
  }
}

/** Resolves as soon as `check` does; rejects when the process ends or time is out, quoting the server's own log. */
export async function waitUntilReady(
  process: NativeProcess,
  folder: string,
  check: () => Promise<unknown>,
): Promise<void> {
  const deadline = performance.now() + serverStartTimeoutMs;
  let ended: string | undefined;
  void process.exited.then((how) => {
    ended = how;
  });
  let last: unknown;
  while (ended === undefined && performance.now() < deadline) {
    try {
      await check();
      return;
    } catch (error) {
      last = error;
      await wait(readyPollMs);
    }
  }
  const why = ended ?? `no answer in ${serverStartTimeoutMs} ms`;
  throw new UnavailableError('test-server-start', `${why}\n${logTail(folder)}`, { cause: last });
}

/** Where a server in this folder writes its output. */
export const logFileOf = (folder: string): string => path.join(folder, 'server.log');

/** Without the stacks that a Go program prints after its reason to end: they are longer than what is quoted. */
function logTail(folder: string): string {
  try {
    const [said = ''] = readFileSync(logFileOf(folder), 'utf8').split(/^goroutine \d/m);
    return said.trimEnd().split('\n').slice(-logTailLines).join('\n');
  } catch {
    return '';
  }
}
