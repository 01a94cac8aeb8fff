/** Owns that clients of OpenAI's two APIs and of Anthropic's understand the scripted model, whole and streamed, and that its answers follow from the conversation alone. */

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Receiver } from './receiver.ts';

let receiver: Receiver;
beforeAll(async () => {
  const call = (city: string) => ({ name: 'weather', arguments: { city } });
  const model = [
    { calls: [call('Oslo'), call('Rome')] },
    { text: 'Mind.', calls: [call('Bern')] },
    { text: 'Fine.', calls: [] },
  ];
  receiver = await Receiver.open({ answers: [], model });
});
afterAll(() => receiver.close());

describe.each(['chat', 'responses'] as const)('the API of %s', (api) => {
  const modelOf = (): LanguageModel => createOpenAI({ baseURL: `${receiver.url}/v1`, apiKey: 'none' })[api]('m');

  it.each(['whole', 'streamed'])('%s', async (how) => {
    const asked: string[] = [];
    const execute = async ({ city }: { city: string }) => {
      asked.push(city);
      return 'sunny';
    };
    const tools = { weather: tool({ inputSchema: z.object({ city: z.string() }), execute }) };
    const calls = receiver.record();
    const options = {
      model: modelOf(),
      prompt: 'go',
      tools,
      stopWhen: isStepCount(5),
      maxRetries: 0,
      maxOutputTokens: 9,
    };
    const text = how === 'whole' ? (await generateText(options)).text : await streamText(options).text;
    expect([text, asked]).toEqual(['Fine.', ['Oslo', 'Rome', 'Bern']]);
    expect(calls.map(({ kind }) => kind)).toEqual(['model', 'model', 'model']);
  });

  it('counts no words that a framework puts there by itself', async () => {
    const said = ['user', 'assistant', 'user'].map((role) => ({ role: role as 'user', content: 'No answer.' }));
    const options = { model: modelOf(), messages: said, maxRetries: 0, maxOutputTokens: 9 };
    expect((await generateText(options)).finishReason).toBe('tool-calls');
  });

  it('refuses what the script has no answer for', async () => {
    const model = modelOf();
    const done = Array.from({ length: 3 }, () => [
      { role: 'user' as const, content: 'go' },
      { role: 'assistant' as const, content: 'Mind.' },
    ]).flat();
    const messages = [...done, { role: 'user' as const, content: 'go' }];
    await expect(generateText({ model, messages, maxRetries: 0, maxOutputTokens: 9 })).rejects.toThrow(
      /script has 3 answers/,
    );
  });
});

describe('the API of messages', () => {
  const ask = async (more: object = {}, ...messages: readonly object[]) => {
    const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'go' }, ...messages], ...more };
    return fetch(`${receiver.url}/v1/messages?beta=true`, { method: 'POST', body: JSON.stringify(body) });
  };
  const told = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'weather', input: {} }] };

  it('whole', async () => {
    expect(await (await ask()).json()).toMatchObject({
      ...{ type: 'message', role: 'assistant', stop_reason: 'tool_use' },
      content: ['Oslo', 'Rome'].map((city) => ({ type: 'tool_use', name: 'weather', input: { city } })),
    });
    const last = [told, { role: 'user' }, told, { role: 'user' }];
    expect(await (await ask({}, ...last)).json()).toMatchObject({
      ...{ stop_reason: 'end_turn', content: [{ type: 'text', text: 'Fine.' }] },
    });
    expect(await (await ask({}, ...last, told, { role: 'user' })).text()).toContain('script has 3 answers');
  });

  it('streamed', async () => {
    const text = await (await ask({ stream: true }, told, { role: 'user' })).text();
    const events = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, type, data]) => ({
      type,
      data: JSON.parse(data!),
    }));
    expect(events.every(({ type, data }) => data.type === type)).toBe(true);
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
    expect(events.map(({ type }) => type)).toEqual([
      'message_start',
      ...block,
      ...block,
      'message_delta',
      'message_stop',
    ]);
    const deltas = events.flatMap(({ data }) => (data.type === 'content_block_delta' ? [data.delta] : []));
    expect(deltas).toEqual([
      { type: 'text_delta', text: 'Mind.' },
      { type: 'input_json_delta', partial_json: '{"city":"Bern"}' },
    ]);
  });
});
