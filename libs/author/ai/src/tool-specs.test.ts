/** Tools of the AI SDK for a model that a step calls. */

import { jsonSchema, tool } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { aiSdkTools } from './tool-specs.ts';

test('tools with schemas of zod and of JSON schema are given with their descriptions', async () => {
  const weather = tool({
    description: 'The weather',
    inputSchema: z.object({ city: z.string(), days: z.number().default(1) }),
    execute: async () => 'warm',
  });
  const now = tool({
    inputSchema: jsonSchema<{ zone: string }>({ type: 'object', properties: { zone: { type: 'string' } } }),
  });
  expect(await aiSdkTools({ weather, now })).toEqual([
    {
      name: 'weather',
      description: 'The weather',
      inputSchema: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'number', description: 'Default: 1.' } },
        required: ['city'],
      },
    },
    { name: 'now', description: '', inputSchema: { type: 'object', properties: { zone: { type: 'string' } } } },
  ]);
});

test('a name that not every provider takes is refused', async () => {
  for (const name of ['web.search', 'a b', '3d-search', '-v', 'x'.repeat(65), ''])
    await expect(aiSdkTools({ [name]: {} })).rejects.toThrow('a tool is named with 1 to 64 letters, digits, _ and -');
});

test.each([
  [{ search: { type: 'provider', inputSchema: z.object({}) } }, 'the provider runs it itself'],
  [{ search: { description: () => 'x', inputSchema: z.object({}) } }, 'its description is computed for each call'],
  [{ search: { inputSchema: 'text' } }, 'its input schema is neither'],
  [{ search: { inputSchema: z.object({ at: z.date() }) } }, 'its input schema has no JSON schema (at at: '],
  [{ search: { inputSchema: z.array(z.string()) } }, 'its input is no object'],
])('a tool that can not be given is refused by its name', async (tools, said) => {
  await expect(aiSdkTools(tools)).rejects.toThrow(`The tool "search" can't be given to ctx.model: ${said}`);
});
