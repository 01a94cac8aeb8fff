/** Reads of what costs more than it is: in the memory that bodies have too, one after the other where need be, and never for who may not see it. */

import { readingNow } from '@tidemark/codec';
import { defineWorkflow, task } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { askSomebody, patient, type Served, sayingAuthenticator, serveApi } from './served.ts';

const IN_HAND_MAX_BYTES = 4 * 1_048_576;
const VALUES = 10_000;
const LARGE_TEXT_CHARS = 10_000;
const large = `[${'{},'.repeat(VALUES - 1)}{}]`;

/** Ends with what it began with. */
const echo = defineWorkflow({
  name: 'echo',
  version: 1,
  input: z.object({ value: z.json() }),
  belief: z.object({}),
  output: z.object({ value: z.json() }),
  tasks: { say: z.object({}) },
  flow: { say: [] },
  begin: () => ({ belief: {}, next: [task('say', {})] }),
  steps: { say: ({ input }) => ({ done: { value: input.value } }) },
});

let served: Served;
let bytes = { now: 0, peak: 0 };
beforeAll(async () => {
  served = await serveApi({
    authenticator: sayingAuthenticator,
    definitions: [patient, askSomebody, echo] as never,
    checksAnswers: false,
    bodies: { inHandMaxBytes: IN_HAND_MAX_BYTES },
  });
  await ask('POST', '/v1/workflows', 'admin', `{"definition":"patient","input":{"times":9},"id":"w"}`);
  await ask('POST', '/v1/workflows/w/signals', 'admin', `{"name":"go","value":${large}}`);
  await ask('POST', '/v1/workflows', 'admin', `{"definition":"echo","input":{"value":${large}},"id":"e"}`);
  const isThere = async (): Promise<boolean> =>
    (await ask('GET', '/v1/workflows/w')).json.sequence_number === 1 &&
    (await ask('GET', '/v1/workflows/e')).json.status === 'completed';
  await eventually(isThere, { timeoutMs: 250_000, what: 'both have got their values' });
}, 300_000);
afterAll(() => served.close());
beforeEach(() => {
  bytes = { now: 0, peak: 0 };
  vi.spyOn(served.host.ports.telemetry, 'gauge').mockImplementation((name, value) => {
    if (name === 'request_body_bytes') bytes = { now: value, peak: Math.max(bytes.peak, value) };
  });
});

async function ask(method: string, at: string, who = 'viewer default', body?: string) {
  const answer = await fetch(`${served.url}${at}`, {
    method,
    headers: { authorization: `Bearer ${who}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body }),
  });
  const text = await answer.text();
  return { status: answer.status, text, later: answer.headers.get('retry-after'), json: JSON.parse(text) };
}

it('concurrent ones have room for so much, and are all answered', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => ask('GET', '/v1/workflows/w', 'admin')));
  // On a slow machine, some wait too long.
  const refused = all.filter(({ status }) => status !== 200);
  expect(refused.every(({ status, later }) => status === 503 && later === '1')).toBe(true);
  expect(refused.length).toBeLessThan(all.length);
  expect(bytes.peak).toBeGreaterThan(VALUES * 100);
  expect(bytes.peak).toBeLessThanOrEqual(IN_HAND_MAX_BYTES);
  expect(bytes.now).toBe(0);
}, 300_000);

const EACH = [
  '/v1/workflows/w',
  '/v1/workflows/w/checkpoints',
  '/v1/workflows/w/notes',
  '/v1/workflows/w/effects',
  '/v1/workflows/w/tasks',
  '/v1/workflows/w/timeline',
  '/v1/workflows/w/trace',
  '/v1/workflows/w/at/1',
  '/v1/workflows/w/budget',
  '/v1/workflows/e',
  '/v1/workflows/e/result',
  '/v1/workflows/e/checkpoints',
  '/v1/workflows?limit=10',
  '/v1/approvals',
];

describe('for who may not see content', () => {
  /** Lengths of the texts that are parsed meanwhile. */
  async function parsedWhile(work: () => Promise<unknown>): Promise<number> {
    const parse = JSON.parse.bind(JSON);
    let longest = 0;
    const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, ...more) => {
      // Others, such as the worker, parse meanwhile what is theirs.
      if (readingNow() !== undefined) longest = Math.max(longest, text.length);
      return parse(text, ...more);
    });
    await work().finally(() => spy.mockRestore());
    return longest;
  }

  it.each(EACH)('%s parses none', async (at) => {
    const longest = await parsedWhile(async () => expect((await ask('GET', at)).status).toBe(200));
    expect(longest).toBeLessThan(LARGE_TEXT_CHARS);
  });

  it('who may see it has it parsed (control)', async () => {
    expect(await parsedWhile(() => ask('GET', '/v1/workflows/w/notes', 'admin'))).toBeGreaterThan(VALUES);
  });
});

it('each has what it had before for a viewer', async () => {
  expect((await ask('GET', '/v1/workflows/e')).json).toMatchObject({ status: 'completed', forgotten: false });
  const [, view] = [await ask('GET', '/v1/workflows/w', 'admin'), await ask('GET', '/v1/workflows/w')];
  expect(view.json).toMatchObject({ sequence_number: 1, forgotten: false, last_checkpoint: { sequence_number: 1 } });
  expect(view.text.length).toBeLessThan(3_000);
});
