/** Owns that a client of OpenAI's two APIs understands the scripted model, whole and streamed, and that its answers follow from the conversation alone. */

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
    const options = { model: modelOf(), prompt: 'go', tools, stopWhen: isStepCount(5), maxRetries: 0 };
    const text = how === 'whole' ? (await generateText(options)).text : await streamText(options).text;
    expect([text, asked]).toEqual(['Fine.', ['Oslo', 'Rome', 'Bern']]);
    expect(calls.map(({ kind }) => kind)).toEqual(['model', 'model', 'model']);
  });

  it('refuses what the script has no answer for', async () => {
    const model = modelOf();
    const done = Array.from({ length: 3 }, () => [
      { role: 'user' as const, content: 'go' },
      { role: 'assistant' as const, content: 'a' },
    ]).flat();
    const messages = [...done, { role: 'user' as const, content: 'go' }];
    await expect(generateText({ model, messages, maxRetries: 0 })).rejects.toThrow(/script has 3 answers/);
  });
});
