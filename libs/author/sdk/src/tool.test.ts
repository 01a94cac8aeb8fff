/** Declared tools: what is refused at the start, by name and place. */

import { expect, it } from 'vitest';
import { z } from 'zod';
import { tool, toolProblems, toolSpecs } from './tool.ts';

const run = () => null;

it.each([
  ['a.b', z.object({}), 'a tool is named with 1 to 64 letters, digits, _ and -'],
  [
    '3d-search',
    z.object({}),
    'tools.3d-search: a tool is named with 1 to 64 letters, digits, _ and -, the first a letter or _.',
  ],
  ['text', z.string(), 'tools.text.input must be an object'],
  ['maybe', z.union([z.object({}), z.null()]), 'tools.maybe.input must be an object'],
  [
    'cents',
    z.object({ order: z.object({ cents: z.bigint() }) }),
    'tools.cents.input has no JSON schema: at order.cents: ',
  ],
  ['when', z.object({ at: z.array(z.date()) }), 'tools.when.input has no JSON schema: at at.items: '],
])('%s is refused where no provider would take it', (name, input, said) => {
  const [problem] = toolProblems({ [name]: tool({ description: 'Does it.', input, run }) });
  expect(problem).toMatchObject({ code: 'tool-invalid', message: expect.stringContaining(said) });
});

it('an input of several forms is one object, and a tool is offered once', () => {
  const input = z.union([z.strictObject({ id: z.string() }), z.strictObject({ slug: z.string() })]);
  const tools = { find: tool({ description: 'Finds it.', input, run }) };
  expect(toolProblems(tools)).toEqual([]);
  const [spec, ...others] = toolSpecs(tools, ['find', 'find'], 'here');
  expect(others).toEqual([]);
  expect(spec!.inputSchema).toMatchObject({
    type: 'object',
    description: 'One of these forms: {"id":"string"} or {"slug":"string"}.',
    properties: { id: { type: 'string' }, slug: { type: 'string' } },
    additionalProperties: false,
  });
});
