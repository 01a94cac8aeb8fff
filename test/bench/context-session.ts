/**
 * Owns the measurement of what a long session stores: turns of 2 KB (a user's message and a model's answer) through the real embedded
 * runtime, every model call with a bundle and over HTTP, by the AI SDK's provider for OpenAI-compatible servers; then the bytes
 * of the log against the bytes that were said. Rows are derived, and told apart.
 */

import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { model } from '@tidemark/ai';
import type { Offset, Partition } from '@tidemark/core';
import { type Host, openEmbedded } from '@tidemark/host';
import type { EventLog } from '@tidemark/ports';
import { defineWorkflow, said, task, taskGoal, userMessage } from '@tidemark/sdk';
import { type ChatServer, startChatServer } from '@tidemark/testkit/chat-server';
import { z } from 'zod';
import { conversation } from './conversation.ts';

const USER_BYTES = 512;
const TURN_BYTES = 2_048;

export interface SessionFigures {
  readonly turns: number;
  readonly rawBytes: number;
  /** Files of the log, once it is closed: all that must last. */
  readonly logBytes: number;
  /** The workflow's records alone, as they were appended. */
  readonly recordBytes: number;
  /** All records' values as they lie in the log's file. */
  readonly packedBytes: number;
  /** What the rows' folder has grown by, its write-ahead log included. */
  readonly rowsBytes: number;
}

const session = (turns: number, server: ChatServer) => {
  const texts = conversation(turns, USER_BYTES, TURN_BYTES);
  server.script(
    ...texts.map(({ agent }) => {
      const [prompt_tokens, completion_tokens] = [randomInt(2_000, 8_000), randomInt(300, 500)];
      const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
      const id = `chatcmpl-${randomBytes(15).toString('base64url')}`;
      return { kind: 'answer', answer: { id, text: agent, usage } } as const;
    }),
  );
  const provider = createOpenAICompatible({ name: 'openai', baseURL: server.url, apiKey: 'none is needed' });
  const workflow = defineWorkflow({
    name: 'session',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ turns: z.int() }),
    tasks: { listen: z.object({ turn: z.int() }), reply: z.object({ turn: z.int() }) },
    flow: { listen: ['reply'], reply: ['listen'] },
    starts: ['listen'],
    models: { default: model(provider('gpt-4o-mini')) },
    bundles: {
      reply: { budgetTokens: 8_000, summary: { thresholdTokens: 6_000, keepTokens: 3_000, by: 'rule' } },
    },
    repeatsMax: 1_000,
    begin: () => ({ belief: {}, next: [task('listen', { turn: 0 })], fragments: [taskGoal('Help the customer.')] }),
    steps: {
      async listen(_ctx, { turn }) {
        return { fragments: [userMessage(texts[turn]!.user)], next: [task('reply', { turn })] };
      },
      async reply(ctx, { turn }) {
        const reply = await ctx.model({ bundle: 'reply' });
        const fragments = said(reply);
        return turn + 1 === turns
          ? { done: { turns }, fragments }
          : { next: [task('listen', { turn: turn + 1 })], fragments };
      },
    },
  });
  const rawBytes = texts.reduce((sum, { user, agent }) => sum + Buffer.byteLength(user + agent), 0);
  return { workflow, rawBytes };
};

async function folderBytes(folder: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) sum += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return sum;
}

async function recordBytesOf(log: EventLog, partition: Partition): Promise<number> {
  let sum = 0;
  for (let from = 0; ; ) {
    const [read] = await log.read([{ partition, from: from as Offset }]);
    for (const { value } of read!.records) sum += value.length;
    from += read!.records.length;
    if (from >= read!.end) return sum;
  }
}

function packedBytesOf(logFile: string): number {
  const database = new DatabaseSync(logFile, { readOnly: true });
  const found = database.prepare('select sum(length(value)) as bytes from records').get();
  database.close();
  return Number(found?.bytes);
}

export interface RanSession {
  readonly host: Host;
  readonly partition: Partition;
  readonly rawBytes: number;
  /** What the rows' folder had before the session. */
  readonly emptyRowsBytes: number;
}

/** A session that has ended, on the state in the folder; the host is still open. */
export async function runSession(turns: number, folder: string, keysUrl = ''): Promise<RanSession> {
  const server = await startChatServer();
  try {
    const { workflow, rawBytes } = session(turns, server);
    const host = await openEmbedded({ folder, keysUrl });
    const emptyRowsBytes = await folderBytes(path.join(folder, 'rows'));
    await host.startWorker({ definitions: [workflow], concurrency: 10 });
    const run = await host.client.start(workflow, {}, { session: 's1', user: 'ana' });
    await run.result();
    const { partition } = (await run.summary())!;
    return { host, partition, rawBytes, emptyRowsBytes };
  } finally {
    await server.close();
  }
}

export async function measureSession(turns = 200): Promise<SessionFigures> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-session-'));
  try {
    const { host, partition, rawBytes, emptyRowsBytes } = await runSession(turns, folder);
    const recordBytes = await recordBytesOf(host.ports.log, partition);
    await host.close(1_000);
    const logBytes = await folderBytes(path.join(folder, 'log'));
    const packedBytes = packedBytesOf(path.join(folder, 'log', 'log.db'));
    const rowsBytes = (await folderBytes(path.join(folder, 'rows'))) - emptyRowsBytes;
    return { turns, rawBytes, logBytes, recordBytes, packedBytes, rowsBytes };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
