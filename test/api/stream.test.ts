/**
 * What a model says, followed over real connections: pieces as they come, each once and in order, from any place; what a lost attempt has
 * said is taken back; and the recorded answer stands above all of it, also in the AI SDK's UI message stream, which its own client reads.
 */

import { connect } from '@tidemark/client';
import type { ModelPrompt } from '@tidemark/runtime';
import { defineWorkflow, task } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

/** One attempt at a call, which says what the test says. */
interface Attempt {
  say(text: string): void;
  finish(text?: string): void;
  fail(): void;
}

/** Attempts by the prompt of their call, as they begin. */
const begun = new Map<string, Attempt[]>();
const attemptOf = async (prompt: string, at = 0): Promise<Attempt> => {
  await expect.poll(() => begun.get(prompt)?.length ?? 0, { timeout: 60_000 }).toBeGreaterThan(at);
  return begun.get(prompt)![at]!;
};

const puppet = testModel(() => '', { attempts: 5 });
const model = {
  ...puppet,
  answer: ({ messages }: ModelPrompt, { onDelta }: { onDelta: (delta: { kind: 'text'; text: string }) => void }) =>
    new Promise<Awaited<ReturnType<typeof puppet.answer>>>((resolve, reject) => {
      const [{ text: prompt = '' } = {}] = messages[0]!.content as readonly { readonly text?: string }[];
      let said = '';
      const attempt: Attempt = {
        say(text) {
          said += text;
          onDelta({ kind: 'text', text });
        },
        finish(text = said) {
          const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
          resolve({ text, toolCalls: [], finishReason: 'stop', usage, detail: null });
        },
        fail: () => reject(new Error('The stream broke.')),
      };
      begun.set(prompt, [...(begun.get(prompt) ?? []), attempt]);
    }),
};

const teller = defineWorkflow({
  name: 'teller',
  version: 1,
  input: z.object({ prompts: z.array(z.string()) }),
  belief: z.object({}),
  output: z.object({ texts: z.array(z.string()) }),
  tasks: { tell: z.object({ prompt: z.string() }), end: z.object({}) },
  outputs: { tell: z.object({ text: z.string() }) },
  flow: { tell: [], end: [] },
  starts: ['tell', 'end'],
  models: { default: model },
  begin: ({ prompts }) => ({
    belief: {},
    next: [...prompts.map((prompt) => task('tell', { prompt })), task('end', {}, { after: 'all' })],
  }),
  steps: {
    tell: async (ctx, { prompt }) => ({ output: { text: (await ctx.model({ prompt, stream: true })).text } }),
    end: async (ctx) => ({ done: { texts: (await ctx.outputs('tell')).map(({ text }) => text) } }),
  },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [teller] });
});
afterAll(() => served.close());

const client = () => connect({ url: served.url, token: 'admin' });
const start = (...prompts: string[]) => client().start('teller', { prompts }, { id: prompts.join('-') });

interface Item {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads until it has seen so many items, or the end. */
function reading(
  id: string,
  { from, count = Number.POSITIVE_INFINITY }: { from?: string | undefined; count?: number } = {},
) {
  const items: Item[] = [];
  const left = new AbortController();
  const done = (async () => {
    for await (const item of client()
      .run(id)
      .stream({ signal: left.signal, ...(from !== undefined && { from }) })) {
      items.push(item as never);
      if (items.length === count) left.abort();
    }
    return items;
  })();
  return { items, done, leave: () => left.abort() };
}

const saidIn = (items: readonly Item[]): string =>
  items.map(({ name, data }) => (name === 'delta' ? data.text : name === 'reset' ? '|' : '')).join('');

/** All states of the message that a page would show, by the AI SDK's own client. */
async function shown(
  id: string,
  see: (text: string, message: UIMessage) => void = () => {},
): Promise<UIMessage | undefined> {
  const transport = new DefaultChatTransport({
    api: served.url,
    headers: { authorization: 'Bearer admin' },
    prepareReconnectToStreamRequest: () => ({ api: `${served.url}/v1/workflows/${id}/stream?format=ui-message` }),
  });
  const stream = await transport.reconnectToStream({ chatId: id });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: stream!, terminateOnError: true })) {
    last = message;
    see(textOf(message), message);
  }
  return last;
}

const textOf = ({ parts }: UIMessage): string => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

describe('a reader', () => {
  it('gets pieces as they come and the answer, and who comes later the answer whole', async () => {
    const run = await start('plain');
    const live = reading(run.id);
    const attempt = await attemptOf('plain');
    for (const text of ['Once ', 'there ', 'was.']) {
      attempt.say(text);
      await expect.poll(() => saidIn(live.items).endsWith(text)).toBe(true);
    }
    const midway = reading(run.id);
    await expect.poll(() => saidIn(midway.items)).toBe('|Once there was.');
    attempt.finish();
    const items = await live.done;
    expect(items.map(({ name }) => name)).toEqual(['reset', 'delta', 'delta', 'delta', 'answer']);
    expect(items.slice(0, 4).map(({ data }) => data.index)).toEqual([0, 1, 2, 3]);
    expect(new Set(items.slice(0, 4).map(({ data }) => data.attempt)).size).toBe(1);
    expect(items.at(-1)!.data).toMatchObject({ text: 'Once there was.', finish_reason: 'stop', tool_calls: [] });
    const late = await reading(run.id).done;
    expect(late.map(({ name }) => name)).toEqual(['answer']);
    expect(late[0]!.data).toEqual(items.at(-1)!.data);
    expect(saidIn(await midway.done)).toBe('|Once there was.');
  });

  it('continues from any id, also after the connection was cut', async () => {
    const run = await start('resumed');
    const whole = reading(run.id);
    const attempt = await attemptOf('resumed');
    for (let at = 0; at < 9; at++) {
      attempt.say(`${at} `);
      await expect.poll(() => whole.items.length).toBe(at + 2);
    }
    const ids = whole.items.map(({ id }) => id);
    const rests = ids.map((from) => reading(run.id, { from }));
    await Promise.all(rests.map(({ items }, at) => expect.poll(() => items.length).toBe(9 - at)));
    attempt.say('9 ');
    attempt.finish();
    await whole.done;
    const all = whole.items.map(({ data }) => data);
    for (const [at, rest] of rests.entries()) {
      expect((await rest.done).map(({ data }) => data)).toEqual(all.slice(at + 1));
    }
    // After the answer there is nothing but the end.
    expect(await reading(run.id, { from: whole.items.at(-1)!.id }).done).toEqual([]);
  });

  it('is told to begin anew when an attempt is lost, and gets nothing of the lost one afterwards', async () => {
    const run = await start('retried');
    const live = reading(run.id);
    const first = await attemptOf('retried');
    first.say('Half of');
    await expect.poll(() => saidIn(live.items)).toBe('|Half of');
    first.fail();
    const second = await attemptOf('retried', 1);
    first.say(' a ghost');
    second.say('All of it.');
    second.finish();
    const items = await live.done;
    expect(saidIn(items).split('|').at(-1)).toBe('All of it.');
    expect(saidIn(items)).not.toContain('ghost');
    const attempts = items.flatMap(({ name, data }) => (name === 'reset' ? [data.attempt as number] : []));
    expect(attempts).toEqual(attempts.toSorted((one, other) => one - other));
    expect(items.at(-1)).toMatchObject({ name: 'answer', data: { text: 'All of it.' } });
    expect((await reading(run.id).done).at(-1)).toMatchObject({ name: 'answer', data: { text: 'All of it.' } });
  });

  it('needs the right to content, and an id that the stream has sent', async () => {
    const run = await start('barred');
    const asked = (query: string, who: string) =>
      fetch(`${served.url}/v1/workflows/${run.id}/stream${query}`, { headers: { authorization: `Bearer ${who}` } });
    expect((await asked('', 'viewer')).status).toBe(403);
    expect((await asked('', 'admin other')).status).toBe(404);
    const wrong = await asked('?from=yesterday', 'admin');
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain('an id that this stream has sent');
    (await attemptOf('barred')).finish('x');
  });
});

describe('a UI message', () => {
  it('shows no word twice and none of a lost attempt once the next begins, and ends as recorded', async () => {
    const run = await start('ui');
    const seen: string[] = [];
    const message = shown(run.id, (text) => seen.push(text));
    const first = await attemptOf('ui');
    first.say('Dear customer, ');
    first.say('we regret');
    await expect.poll(() => seen.at(-1)).toBe('Dear customer, we regret');
    first.fail();
    const second = await attemptOf('ui', 1);
    second.say('Dear customer, ');
    second.say('thank you.');
    await expect.poll(() => seen.at(-1)).toBe('Dear customer, thank you.');
    second.finish();
    const last = await message;
    expect(last).toMatchObject({ id: 'ui', role: 'assistant' });
    expect(textOf(last!)).toBe('Dear customer, thank you.');
    for (const text of seen) {
      expect(['Dear customer, we regret', 'Dear customer, thank you.'].some((whole) => whole.startsWith(text))).toBe(
        true,
      );
    }
    // Who reconnects gets the message from its beginning, also after the end.
    expect(textOf((await shown(run.id))!)).toBe('Dear customer, thank you.');
  });

  it('ends with what is recorded where that differs, and takes what is missing from the record', async () => {
    const run = await start('masked', 'tail');
    const message = shown(run.id);
    const [masked, tail] = await Promise.all(['masked', 'tail'].map((prompt) => attemptOf(prompt)));
    masked!.say('The key is s3cret');
    masked!.finish('The key is ***');
    tail!.say('Begun');
    tail!.finish('Begun and done.');
    expect(textOf((await message)!)).toBe('The key is ***Begun and done.');
  });

  it('shows calls that run side by side one after the other', async () => {
    const run = await start('left', 'right');
    const seen: string[] = [];
    const message = shown(run.id, (text) => seen.push(text));
    const [left, right] = await Promise.all(['left', 'right'].map((prompt) => attemptOf(prompt)));
    left!.say('L1 ');
    await expect.poll(() => seen.at(-1)).toBe('L1 ');
    right!.say('R1 ');
    left!.say('L2 ');
    right!.say('R2 ');
    await expect.poll(() => seen.at(-1)).toBe('L1 L2 ');
    left!.finish();
    await expect.poll(() => seen.at(-1)).toBe('L1 L2 R1 R2 ');
    right!.say('R3');
    right!.finish();
    expect(textOf((await message)!)).toBe('L1 L2 R1 R2 R3');
    for (const text of seen) expect('L1 L2 R1 R2 R3'.startsWith(text)).toBe(true);
  });

  it('says its form, and what it ends with', async () => {
    const run = await start('form');
    (await attemptOf('form')).finish('Done.');
    const answer = await fetch(`${served.url}/v1/workflows/${run.id}/stream?format=ui-message`, {
      headers: { authorization: 'Bearer admin' },
    });
    expect(answer.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
    const text = await answer.text();
    expect(text).toMatch(/^retry: 500\n\ndata: \{"type":"start","messageId":"form"\}\n\n/);
    expect(text.trimEnd().split('\n\n').slice(-2)).toEqual([
      'data: {"type":"finish","finishReason":"stop"}',
      'data: [DONE]',
    ]);
  });
});
