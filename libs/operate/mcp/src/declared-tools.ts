/** Owns the tools that are declared beside their operations: what they take, the request that they make, and the text of the answer. */

import type { Endpoint } from '@tidemark/client';
import { EDGES } from '@tidemark/client/declared-edges';
import { type Edge, type EdgeField, type Given, inWords, requestOf, type ToolEdge } from '@tidemark/client/edges';
import { InvalidError } from '@tidemark/core';
import { z } from 'zod';
import { type About, aboutField, aboutOf, aboutToChange, nameField, sourceOf, userField, userOf } from './fields.ts';
import { ADDS_ONCE, READS, REPLACES, type Tool, type ToolContext, toolOf } from './tool.ts';

const HINTS = { reads: READS, 'adds-once': ADDS_ONCE, replaces: REPLACES } as const;

type Declared = NonNullable<Edge['tools']>[number];

function declaredTool(edge: Edge, tool: Declared): Tool {
  const { name, title, about, hints, output, says, each } = tool;
  const fields = edge.fields.filter((field) => tool.takes.includes(field.name));
  return toolOf({
    ...{ name, title, description: about, hints: HINTS[hints], input: z.strictObject(shapeOf(fields)), output },
    async run(given, context) {
      if (context.user !== undefined && !edge.fields.some(isOfUser)) throw ofOneUser(name);
      const values = valuesOf(edge, tool, given, context);
      const request = requestOf(edge, values);
      const answer = (await context.withMemory(hints === 'reads' ? 'read' : 'write', (client) =>
        client.ask(edge.endpoint as Endpoint, request as never, { isRepeatable: true }),
      )) as unknown as Given;
      const lines = each === undefined ? [] : ((answer[each[0]] ?? []) as readonly Given[]);
      const text = [inWords(says, [answer, values], shown), ...lines.map((item) => inWords(each![1], [item], shown))];
      return { data: answer, text: text.filter((line) => line !== '').join('\n') };
    },
  });
}

const isOfUser = ({ name, kind }: EdgeField): boolean => kind === 'subject' || name === 'user';

const ofOneUser = (tool: string): InvalidError =>
  new InvalidError('user-fixed', `user: this server serves one user; ${tool} is about the whole tenant.`, {
    field: 'user',
  });

/** A stored value stands as JSON, so that a text is told from a number. */
const shown = (name: string, value: unknown): string =>
  typeof value === 'string' && name !== 'value' ? value : JSON.stringify(value);

const shapeOf = (fields: readonly EdgeField[]): z.ZodRawShape =>
  Object.fromEntries(
    fields.flatMap((field): readonly (readonly [string, z.ZodType])[] => {
      if (field.kind === 'subject')
        return [
          ['user', userField],
          ['about', aboutField],
        ];
      if (field.name === 'user') return [['user', userField]];
      const schema = schemaOf(field).describe(field.about);
      return [[field.name, field.isNeeded ? schema : schema.optional()]];
    }),
  );

function schemaOf({ kind, min = 0, max = Number.MAX_SAFE_INTEGER, choices = [] }: EdgeField): z.ZodType {
  switch (kind) {
    case 'name':
    case 'subject':
      return nameField;
    case 'text':
      return z.string().trim().min(1).max(max);
    case 'texts':
      return z.array(nameField);
    case 'choice':
      return z.enum(choices as [string, ...string[]]);
    case 'number':
      return z.int().min(min).max(max);
    case 'flag':
    case 'switch':
      return z.boolean();
    case 'json':
      return z.json();
  }
}

/** With what the server of tools knows: whose memory it is, and who says so. */
function valuesOf({ fields }: Edge, { hints }: ToolEdge, given: Given, context: ToolContext): Given {
  const known = fields.flatMap(({ name, kind }): readonly (readonly [string, unknown])[] => {
    if (kind === 'subject')
      return [[name, (hints === 'reads' ? aboutOf : aboutToChange)(context, given as unknown as About)]];
    if (name === 'user') return [[name, userOf(context, given.user as string | undefined)]];
    if (name === 'source') return [[name, sourceOf(context, given.source as string | undefined)]];
    return name === 'tenant' ? [[name, context.tenant]] : [];
  });
  return { ...given, ...Object.fromEntries(known) };
}

export const DECLARED_TOOLS: readonly Tool[] = EDGES.flatMap((edge) =>
  (edge.tools ?? []).map((tool) => declaredTool(edge, tool)),
);
