/**
 * Owns the native servers' processes and folders: it is a process of its own that outlives its parent for a moment.
 * Commands come as JSON lines on standard input; when that closes (the parent ended in whatever way, kill −9
 * included) every server is ended and every folder removed.
 *
 * It must not share the parent's process group (Ctrl-C would end it first) and must start the servers itself: were
 * they the parent's children, a parent killed between starting and reporting one would leave it behind.
 * Plain Node without imports from the project, so that it starts fast.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

export type KeeperCommand =
  | { readonly do: 'own'; readonly folder: string }
  | { readonly do: 'remove'; readonly folder: string }
  | ({ readonly do: 'start'; readonly id: number } & KeptCommand)
  | { readonly do: 'end'; readonly id: number };

export interface KeptCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Standard output and error are appended here. */
  readonly logFile: string;
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** Asks it to end; Postgres must remove its shared memory, so it can't just be killed. */
  readonly endSignal: 'SIGKILL' | 'SIGQUIT';
  readonly endGraceMs: number;
}

export type KeeperReport =
  | { readonly report: 'started'; readonly id: number; readonly pid: number }
  | { readonly report: 'failed'; readonly id: number; readonly message: string }
  | { readonly report: 'exited'; readonly id: number; readonly code: number | null; readonly signal: string | null }
  | { readonly report: 'owned'; readonly folder: string }
  | { readonly report: 'removed'; readonly folder: string };

interface Kept {
  readonly child: ChildProcess;
  readonly command: KeptCommand;
}

const folders = new Set<string>();
const running = new Map<number, Kept>();
let ending = false;

function report(report: KeeperReport): void {
  if (!ending) process.stdout.write(`${JSON.stringify(report)}\n`);
}

function signalGroup(kept: Kept, signal: NodeJS.Signals): void {
  if (kept.child.pid === undefined) return;
  try {
    process.kill(-kept.child.pid, signal);
  } catch {
    // The group is gone already.
  }
}

function removeFolder(folder: string): void {
  folders.delete(folder);
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  } catch {
    // Something else holds a file in it; nothing more can be done from here.
  }
}

function start(id: number, command: KeptCommand): void {
  const log = openSync(command.logFile, 'a');
  const child = spawn(command.command, [...command.args], {
    cwd: command.cwd,
    env: { ...process.env, ...command.env },
    stdio: ['ignore', log, log],
    detached: true,
    ...(command.owner ?? {}),
  });
  closeSync(log);
  const kept = { child, command };
  running.set(id, kept);
  child.once('spawn', () => report({ report: 'started', id, pid: child.pid ?? 0 }));
  child.once('error', (error) => {
    running.delete(id);
    report({ report: 'failed', id, message: error.message });
    endWhenEmpty();
  });
  child.once('exit', (code, signal) => {
    signalGroup(kept, 'SIGKILL');
    running.delete(id);
    report({ report: 'exited', id, code, signal });
    endWhenEmpty();
  });
}

function end(kept: Kept): void {
  signalGroup(kept, kept.command.endSignal);
  setTimeout(() => signalGroup(kept, 'SIGKILL'), kept.command.endGraceMs).unref();
}

function endAll(): void {
  ending = true;
  for (const kept of running.values()) end(kept);
  endWhenEmpty();
}

function endWhenEmpty(): void {
  if (!ending || running.size > 0) return;
  for (const folder of [...folders]) removeFolder(folder);
  process.exit(0);
}

function obey(command: KeeperCommand): void {
  switch (command.do) {
    case 'own':
      folders.add(command.folder);
      report({ report: 'owned', folder: command.folder });
      return;
    case 'remove':
      removeFolder(command.folder);
      report({ report: 'removed', folder: command.folder });
      return;
    case 'start':
      start(command.id, command);
      return;
    case 'end': {
      const kept = running.get(command.id);
      if (kept !== undefined) end(kept);
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.stdout.on('error', () => undefined);
const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const command = JSON.parse(line) as KeeperCommand;
  try {
    obey(command);
  } catch (error) {
    if (command.do === 'start') report({ report: 'failed', id: command.id, message: String(error) });
  }
});
lines.on('close', endAll);
