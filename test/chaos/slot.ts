/**
 * Owns one place in the fleet: a process that is started, ended in every way and started again, always behind the same links.
 * A process that ends by itself is noted as a surprise, and started again too. Its standard error is kept in a file.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import path from 'node:path';
import { SERVICE_NODE_FLAGS } from '@tidemark/host';
import { lines } from './ledger-protocol.ts';
import { RESTART_DELAY_MS, RESTART_FAILED_DELAY_MS, STOP_WAIT_MAX_MS } from './limits.ts';
import { Links } from './link.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const HOLDER = /worker-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

export type Role = 'coordinator' | 'worker' | 'compactor';

/** Where a place has another program than the service of its role. */
export interface SlotProgram {
  /** What Node is given besides the flags of a service. */
  readonly args: readonly string[];
  /** Where it runs; by default in this tree. */
  readonly folder?: string;
  /** Pause before one that was ended is started again, in milliseconds. */
  readonly restartDelayMs: number;
  /** Told of each line on its standard error. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Told when a process is gone and all its lines were told. */
  readonly onGone?: (() => void) | undefined;
}

export class Slot {
  readonly role: Role;
  readonly name: string;
  readonly links: Links;
  /** Told of what nobody asked for: a process that ended by itself, or did not end as it should. */
  readonly #onSurprise: (what: string) => void;
  #program: SlotProgram;
  readonly #holders = new Set<string>();
  readonly #log: WriteStream;
  #env: Record<string, string> = {};
  #child: ChildProcess | undefined;
  #holder: string | undefined;
  #isUp = false;
  #isExpected = false;
  #isClosing = false;
  #up = Promise.withResolvers<void>();

  constructor(
    role: Role,
    index: number,
    folder: string,
    onSurprise: (what: string) => void,
    program: SlotProgram = serviceOf(role),
  ) {
    this.role = role;
    this.#program = program;
    this.name = `${role}-${index}`;
    this.#onSurprise = onSurprise;
    this.#log = createWriteStream(path.join(folder, `${this.name}.log`), { flags: 'a' });
    this.links = new Links(role, (chunk) => this.#hearRedis(chunk));
  }

  /** True while a started process stands. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** True while there is a process that nobody has ended, whether it stands already or is starting. */
  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null && !this.#isExpected;
  }

  /** Asks it to end, and starts the service of the release in that tree in its place; resolves when that is up. */
  async replaceBy(root: string): Promise<void> {
    this.#program = serviceOf(this.role, root);
    await this.terminate();
    await this.whenUp();
  }

  /** Of the process that is there now; undefined before the first. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The holder id that the process writes with; undefined until it was heard. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Resolves when it is up, at once or after its next start. */
  whenUp(): Promise<void> {
    return this.#isUp ? Promise.resolve() : this.#up.promise;
  }

  /** Starts the process, and again after each end, until `close`. Throws when its first start fails. */
  async start(env: Record<string, string>): Promise<void> {
    this.#env = env;
    this.#spawn();
    const failed = Promise.withResolvers<void>();
    this.#child!.once('exit', (code, signal) =>
      failed.reject(new Error(`${this.name} could not start (${signal ?? code}); see ${this.#log.path}`)),
    );
    await Promise.race([this.whenUp(), failed.promise]);
    failed.promise.catch(() => {});
  }

  /** Ends it at once, as a lost machine would. */
  kill(): void {
    this.#isExpected = true;
    this.#isUp = false;
    this.#child?.kill('SIGKILL');
  }

  /** Asks it to end; resolves when it has. One that doesn't is killed, which is a surprise. */
  async terminate(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    this.#isExpected = true;
    this.#isUp = false;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.#onSurprise(`${this.name} did not end within ${STOP_WAIT_MAX_MS} ms of SIGTERM`);
      child.kill('SIGKILL');
    }, STOP_WAIT_MAX_MS);
    const [code] = await exited;
    clearTimeout(timer);
    if (code !== 0 && code !== null) this.#note(`ended with ${code} after SIGTERM`);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal);
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      this.kill();
      await exited;
    }
    this.#up.promise.catch(() => {});
    await this.links.close();
    this.#log.end();
  }

  /** For the last moment of a run that is interrupted. */
  killNow(): void {
    this.#isClosing = true;
    this.#child?.kill('SIGKILL');
  }

  #hearRedis(chunk: Buffer): void {
    if (this.#holder !== undefined || this.#child === undefined || this.role !== 'worker') return;
    const name = HOLDER.exec(chunk.toString('latin1'))?.[0];
    // What a process before this one had sent may still be on its way.
    if (name === undefined || this.#holders.has(name)) return;
    this.#holders.add(name);
    this.#holder = name;
  }

  #spawn(): void {
    this.#holder = undefined;
    this.#isExpected = false;
    this.#note('starting');
    const child = spawn(process.execPath, [...SERVICE_NODE_FLAGS, ...this.#program.args], {
      cwd: this.#program.folder ?? ROOT,
      // Of several coordinators on one machine one alone could have the usual port.
      env: { TIDEMARK_API_PORT: '0', ...process.env, ...this.#env },
      stdio: ['ignore', 'ignore', 'pipe'],
      // The terminal's Ctrl-C is for the run, which ends its processes itself.
      detached: true,
    });
    this.#child = child;
    child.stderr!.on(
      'data',
      lines((line) => {
        this.#log.write(`${line}\n`);
        this.#program.onLine?.(line);
        if (line.includes(`"message":"${this.role} started"`)) this.#started(child);
      }),
    );
    child.once('close', () => this.#program.onGone?.());
    child.once('exit', (code, signal) => this.#exited(child, code, signal));
  }

  #started(child: ChildProcess): void {
    if (child !== this.#child || this.#isExpected) return;
    this.#isUp = true;
    this.#up.resolve();
    this.#up = Promise.withResolvers();
  }

  #exited(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    const wasUp = this.#isUp;
    this.#isUp = false;
    this.#note(`ended: ${signal ?? code}`);
    if (this.#isClosing || child !== this.#child) return;
    // One that waited in vain for its servers at its start says so by its code.
    if (!this.#isExpected && wasUp) this.#onSurprise(`${this.name} ended by itself (${signal ?? code})`);
    const delayMs = this.#isExpected ? this.#program.restartDelayMs : RESTART_FAILED_DELAY_MS;
    setTimeout(() => {
      if (!this.#isClosing) this.#spawn();
    }, delayMs);
  }

  #note(what: string): void {
    this.#log.write(`${JSON.stringify({ at: new Date().toISOString(), chaos: what, holder: this.#holder })}\n`);
  }
}

export const serviceOf = (role: Role, root = ROOT): SlotProgram => ({
  folder: root,
  args: [path.join(root, 'services', role, 'src/main.ts')],
  restartDelayMs: RESTART_DELAY_MS,
});
