/**
 * An agent of the Claude Agent SDK with two tools: its sessions on the host's disk, or in Tidemark's store. The SDK brings a program under terms
 * of its own, and is no part of this repository: install it beside. See docs/guides/claude-agent-sdk.md.
 */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { type SessionStore, TidemarkSessionStore } from '@tidemark/claude-sessions';
import { openEmbedded } from '@tidemark/host';
import { z } from 'zod';
import { post, stateFolder } from './outside.ts';

const SESSION = '00000000-0000-4000-8000-000000008821';
const home = path.join(stateFolder, 'home');
Object.assign(process.env, { CLAUDE_CONFIG_DIR: home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' });

/** What is used of the SDK. */
interface Sdk {
  query(of: object): AsyncIterable<{ readonly type: string; readonly result?: string }>;
  tool(name: string, what: string, form: object, call: (given: { order: string }) => Promise<object>): unknown;
  createSdkMcpServer(of: object): object;
  getSessionInfo(session: string, of: object): Promise<object | undefined>;
}
const name: string = '@anthropic-ai/claude-agent-sdk';
const { query, tool, createSdkMcpServer, getSessionInfo }: Sdk = await import(name);

const call = (of: string, url: string) =>
  tool(of, `${of}s the order`, { order: z.string() }, async ({ order }) => {
    await post(url, { order });
    return { content: [{ type: 'text', text: 'done' }] };
  });
const shop = createSdkMcpServer({ name: 'shop', tools: [call('refund', '/refunds'), call('mail', '/mails')] });

async function ask(cwd: string, sessionStore: SessionStore | undefined): Promise<string> {
  const flush = process.argv[3] === 'eager' ? 'eager' : 'batched';
  const place = sessionStore === undefined ? {} : { sessionStore, sessionStoreFlush: flush };
  const isKnown = (await getSessionInfo(SESSION, { dir: cwd, ...place })) !== undefined;
  const options = {
    ...{ cwd, ...place, model: 'claude-sonnet-4-5', systemPrompt: 'You refund orders.', settingSources: [] },
    ...{ mcpServers: { shop }, tools: [], allowedTools: ['mcp__shop__refund', 'mcp__shop__mail'] },
    ...(isKnown ? { resume: SESSION } : { sessionId: SESSION }),
  };
  for await (const { type, result = '' } of query({ prompt: isKnown ? 'Go on.' : 'Refund order 8821.', options }))
    if (type === 'result') return result;
  return '';
}

const cwd = process.cwd();
if (process.argv[2] === 'tidemark') {
  // As on another host, which has nothing of the session on its disk.
  await rm(home, { recursive: true, force: true });
  const host = await openEmbedded({ folder: path.join(stateFolder, 'state') });
  const store = new TidemarkSessionStore(host);
  console.log(await ask(cwd, store));
  await store.flush();
  await host.close();
} else {
  console.log(await ask(cwd, undefined));
}
