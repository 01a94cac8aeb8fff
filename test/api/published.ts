/**
 * Owns the collection of what Tidemark publishes as JSON Schema: tools of assistants and of models, the API's document, forms. Whatever
 * client there is reads it.
 */

import { aiSdkTools } from '@tidemark/ai';
import { documentOf } from '@tidemark/api';
import { serveStdio } from '@tidemark/mcp';
import { defineWorkflow, task, tool } from '@tidemark/sdk';
import { testModel, testWorld } from '@tidemark/testkit';
import { mcpPipes } from '@tidemark/testkit/mcp-client';
import { z } from 'zod';

/** A schema of what people write, each with something that some client refuses. */
export const written = z.object({
  name: z.string().regex(/^(?!\s*$)[^\p{Cc}]*$/u),
  word: z.string().regex(/^(?<first>\w)\d*\1$/),
  mail: z.email(),
  when: z.iso.datetime(),
  size: z.templateLiteral([z.number(), z.enum(['px', 'em'])]).optional(),
  pair: z.tuple([z.string(), z.int()]),
  either: z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal(2) })]),
  any: z.json(),
  nothing: z.never().optional(),
  items: z.array(z.unknown()),
  byName: z.record(z.string().regex(/^\p{L}+$/u), z.number().gt(0)),
});

const both = z.union([z.object({ id: z.string() }), z.object({ slug: z.string() })]);

const model = testModel((_prompt, call) => (call === 1 ? 'None.' : '{"answer":[]}'));

const definition = defineWorkflow({
  ...{ name: 'publishes', version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) },
  tasks: { think: z.object({}) },
  flow: { think: [] },
  starts: ['think'],
  signals: { told: written },
  approvals: { asked: written },
  models: { default: model },
  tools: {
    one: tool({ description: 'One.', input: written, run: () => null }),
    two: tool({ description: 'Two.', input: both, run: () => null }),
  },
  begin: () => ({ belief: {}, next: [task('think', {})] }),
  steps: {
    async think(ctx) {
      await ctx.model({ prompt: 'Which?' });
      await ctx.model({ prompt: 'What?', schema: z.array(written.partial()) });
      return { done: {} };
    },
  },
});

export interface Published {
  /** Of tools and answers, by name: the subset of decision 0079, and an object at the top. */
  readonly objects: ReadonlyMap<string, unknown>;
  /** Those that say more, for readers of whole schemas. */
  readonly whole: ReadonlyMap<string, unknown>;
}

export async function published(): Promise<Published> {
  const objects = new Map<string, unknown>();
  const whole = new Map<string, unknown>();
  const world = await testWorld({ workflows: [definition] });
  await (await world.start(definition, {})).result();
  await world.close();
  const [asked, answered] = model.prompts;
  for (const { name, inputSchema } of asked!.tools) objects.set(`tool ${name}`, inputSchema);
  objects.set('answer', answered!.responseSchema);
  for (const { name, inputSchema } of await aiSdkTools({ one: { inputSchema: written }, two: { inputSchema: both } })) {
    objects.set(`tool ${name} of the AI SDK`, inputSchema);
  }
  const pipes = mcpPipes();
  const served = serveStdio({
    ...{ ...pipes, version: '0', signal: new AbortController().signal, folder: () => undefined, allowedChecks: [] },
    withMemory: () => Promise.reject(new Error('asked for memory')),
    onError: () => {},
  });
  const { client } = await pipes.connect('reader');
  for (const { name, inputSchema, outputSchema } of (await client.listTools()).tools) {
    objects.set(`mcp ${name}`, inputSchema);
    objects.set(`mcp ${name}, answer`, outputSchema);
  }
  pipes.close();
  await served;
  const { paths, components } = documentOf();
  whole.set('openapi', { paths, components });
  whole.set('approval', definition.approvals?.get('asked'));
  whole.set('signal', definition.signals?.get('told')?.schema);
  return { objects, whole };
}

/** All patterns, with their places. */
export const patternsOf = ({ objects, whole }: Published): readonly (readonly [place: string, pattern: string])[] =>
  [...objects, ...whole].flatMap(([name, schema]) => patternsIn(schema, name));

function patternsIn(schema: unknown, place: string): (readonly [place: string, pattern: string])[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) =>
    name === 'pattern' && typeof value === 'string' ? [[place, value] as const] : patternsIn(value, `${place} ${name}`),
  );
}
