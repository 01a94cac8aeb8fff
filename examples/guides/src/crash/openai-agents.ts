/** An agent with two tools, run as the framework does, or within a function. See docs/guides/openai-agents.md. */

import { Agent, MemorySession, type Model, type ModelResponse, Runner, tool, Usage } from '@openai/agents-core';
import { openEmbedded } from '@tidemark/host';
import { currentCall, runAgent } from '@tidemark/openai-agents';
import { defineFunction } from '@tidemark/sdk';
import { z } from 'zod';
import { post, stateFolder } from './outside.ts';

/** The API of responses, as far as it is needed here; `@openai/agents` brings one. */
const model: Model = {
  async getResponse({ input, systemInstructions, signal }) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    const wire = items.map((item) => ('callId' in item ? { type: item.type, call_id: item.callId } : item));
    const body = { model: 'scripted', instructions: systemInstructions, input: wire };
    const { id, output } = (await post('/v1/responses', body, undefined, signal)) as {
      readonly id: string;
      readonly output: readonly { readonly type: string; readonly call_id?: string }[];
    };
    const given = output.map(({ call_id: callId, ...item }) => (callId === undefined ? item : { ...item, callId }));
    return { responseId: id, usage: new Usage(), output: given as ModelResponse['output'] };
  },
  async *getStreamedResponse() {},
};

const call = (name: string, path: string) =>
  tool({
    name,
    description: `${name}s the order`,
    parameters: z.object({ order: z.string() }),
    execute: ({ order }) => post(path, { order }, currentCall()?.key), // a key that stays the same
  });
const clerk = new Agent({
  name: 'clerk',
  instructions: 'You refund orders.',
  model,
  tools: [call('refund', '/refunds'), call('mail', '/mails')],
});

const refund = defineFunction({
  name: 'refund',
  version: 1,
  input: z.object({ prompt: z.string() }),
  output: z.object({ text: z.string() }),
  async run(ctx, { prompt }) {
    const result = await runAgent(ctx, clerk, prompt, { tools: { refund: 'idempotent', mail: 'idempotent' } });
    return { text: String(result.finalOutput) };
  },
});

const prompt = 'Refund order 8821.';
if (process.argv[2] === 'tidemark') {
  const host = await openEmbedded({ folder: stateFolder });
  await host.startWorker({ definitions: [refund], concurrency: 1 });
  const run = await host.client.start(refund, { prompt }, { id: 'refund-8821' });
  console.log((await run.result()).text);
  await host.close();
} else {
  const session = new MemorySession({ sessionId: 'refund-8821' });
  const result = await new Runner({ tracingDisabled: true }).run(clerk, prompt, { session });
  console.log(result.finalOutput);
}
