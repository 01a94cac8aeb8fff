/** Owns the real command and the protocol's own client in tests: temporary folders, and nothing that outlives its test. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpTestClient } from './mcp-client.ts';
import { QUICK_WASM } from './node-flags.ts';

const MAIN = path.resolve(import.meta.dirname, '../../cli/src/main.ts');

/** The part of a test that clean-up needs. */
export interface TestEnd {
  onTestFinished(cleanUp: () => Promise<void>): void;
}

export interface Place {
  readonly folder: string;
  /** A client that starts its own server; `pid` is the server's. */
  stdio(name: string, ...options: string[]): Promise<McpTestClient & { readonly pid: number }>;
  /** A server over HTTP. */
  http(options?: readonly string[], env?: Readonly<Record<string, string>>): Promise<RunningServer>;
}

export interface RunningServer {
  readonly url: string;
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  connect(
    name: string,
    headers?: Record<string, string>,
  ): Promise<McpTestClient & { readonly transport: StreamableHTTPClientTransport }>;
}

/** The environment that the commands get: this one's, with nothing of Tidemark's in it. */
function plainEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_'));
  return { ...(Object.fromEntries(own) as Record<string, string>), ...more };
}

export async function place(context: TestEnd): Promise<Place> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-mcp-'));
  const cleanUps: (() => Promise<unknown>)[] = [];
  context.onTestFinished(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
    await rm(folder, { recursive: true, force: true });
  });
  const spawned = (args: readonly string[], env?: Readonly<Record<string, string>>): ChildProcess => {
    const child = spawn(process.execPath, [QUICK_WASM, MAIN, ...args], {
      cwd: folder,
      env: plainEnv(env),
      stdio: 'pipe',
    });
    child.stdin?.end();
    cleanUps.push(async () => {
      child.kill('SIGKILL');
      await endOf(child);
    });
    return child;
  };
  return {
    folder,
    async stdio(name, ...options) {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [QUICK_WASM, MAIN, 'mcp', '--dir', '.', ...options],
        cwd: folder,
        env: plainEnv(),
        stderr: 'inherit',
      });
      const client = new McpTestClient(name);
      cleanUps.push(() => client.client.close());
      await client.client.connect(transport);
      await client.client.listTools();
      return Object.assign(client, { pid: transport.pid! });
    },
    async http(options = [], env = {}) {
      const child = spawned(['mcp', '--dir', '.', '--http', '0', '--json', ...options], env);
      child.stderr?.pipe(process.stderr);
      const { url } = JSON.parse(await firstLine(child)) as { readonly url: string };
      return {
        url,
        process: child,
        ended: endOf(child),
        async connect(name, headers = {}) {
          const client = new McpTestClient(name);
          const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
          cleanUps.push(() => client.client.close());
          await client.client.connect(transport as Parameters<Client['connect']>[0]);
          await client.client.listTools();
          return Object.assign(client, { transport });
        },
      };
    },
  };
}

export const endOf = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once('close', (code) => resolve(code)));

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line;
  throw new Error('it ended before it was ready');
}
