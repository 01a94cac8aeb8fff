/** Owns the ledger's process: started once, and ended last. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

export interface LedgerProcess {
  readonly port: number;
  stop(): Promise<void>;
}

/** `file` gets each applied effect as a line. */
export async function startLedger(file: string, seed: number): Promise<LedgerProcess> {
  const main = path.join(import.meta.dirname, 'ledger-server.ts');
  const child = spawn(process.execPath, [main, file, String(seed)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = Number(await firstLine(child));
  return {
    port,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.stdin!.end();
      await exited;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  createInterface({ input: child.stdout! }).once('line', resolve);
  child.once('exit', (code) => reject(new Error(`the ledger ended with ${code}`)));
  return promise;
}
