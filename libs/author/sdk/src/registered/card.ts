/** Owns what a definition says of itself to processes without its code: in JSON, or that its code is needed, and why. */

import { toJson, wholeSchema } from '@tidemark/codec';
import type { EffectDefinition, Registration } from '@tidemark/runtime';
import { z } from 'zod';
import type { Effect } from '../effect.ts';
import type { Schema } from '../schema.ts';
import { walkSchema } from '../schema-walk.ts';
import type { Workflow } from '../workflow-spec.ts';
import { isReadable } from './json-schema.ts';

const effectCard = z.object({
  operation: z.string(),
  kind: z.enum(['pure', 'idempotent', 'irreversible']),
  timeoutMs: z.number(),
  response: z.json(),
  /** What it has besides `call`. */
  has: z.array(z.enum(['probe', 'probeFences', 'afterSilence', 'compensate', 'compensateUnknown'])),
});

const stepCard = z.object({
  name: z.string(),
  plans: z.literal(true).optional(),
  compensates: z.literal(true).optional(),
});

export const cardSchema = z.object({
  /** JSON Schema; or why its code has to be loaded where it is started. */
  input: z.union([z.object({ schema: z.json() }), z.object({ needsCode: z.string() })]),
  signals: z.record(z.string(), z.json()),
  effects: z.array(effectCard),
  steps: z.array(stepCard),
  starts: z.array(z.string()),
  flow: z.record(z.string(), z.array(z.string())),
  warnings: z.array(z.string()),
  /** Versions whose workflows it can run besides its own. */
  upcastsFrom: z.array(z.number()),
  dispatch: z.object({ priority: z.number().optional(), limits: z.array(z.json()).optional() }).optional(),
  placement: z.enum(['exclusive', 'shared']).optional(),
  onFailure: z.enum(['park', 'retry-on-new-build', 'fail', 'compensate']),
  onSecret: z.enum(['report', 'mask', 'refuse']).optional(),
  timeoutMs: z.number().optional(),
  agent: z.literal(true).optional(),
  unwinds: z.literal(true).optional(),
});
export type Card = z.infer<typeof cardSchema>;

/** What a worker registers of a workflow. */
export function registrationOf(workflow: Workflow): Registration {
  const { name, version, schemas, effects, steps, flow, starts, warnings, signals, upcasters } = workflow;
  const { onFailure, placement, onSecret, timeoutMs, agent, unwinds, dispatch } = workflow;
  const inputSchema = wholeSchema(schemas.input, 'input', 'any');
  const needsCode =
    whyCode(workflow) ?? (isReadable(inputSchema) ? undefined : 'zod has no schema for its JSON Schema');
  const card: Card = {
    input: needsCode === undefined ? { schema: inputSchema as never } : { needsCode },
    signals: Object.fromEntries(Array.from(signals ?? [], ([of, { schema }]) => [of, schema as never])),
    effects: effects.map(cardOfEffect),
    steps: Array.from(steps.values(), ({ name: of, plans, compensate }) => ({
      name: of,
      ...(plans === true && { plans }),
      ...(compensate !== undefined && { compensates: true as const }),
    })),
    starts: [...starts],
    flow: Object.fromEntries(Object.entries(flow).map(([step, adds]) => [step, [...adds]])),
    warnings: warnings.map(({ message }) => message),
    upcastsFrom: [...upcasters.keys()],
    ...(typeof dispatch === 'object' && { dispatch: dispatch as never }),
    onFailure,
    ...given({ placement, onSecret, timeoutMs, agent: agent || undefined, unwinds }),
  };
  return { name, version, card: toJson(card, `${name} v${version}`) };
}

/** Without members that are undefined. */
export const given = <T extends object>(of: T): T =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as T;

/** Undefined: what a start needs of it can be said in JSON. */
function whyCode({ hasSecrets, dispatch, context, schemas }: Workflow): string | undefined {
  if (hasSecrets === true) return 'its schemas mark fields as secret';
  if (typeof dispatch === 'function') return 'its priority or limits are functions of the input';
  if (isChanging(schemas.input)) return 'its schema changes inputs in a way that JSON Schema has no words for';
  if ((context?.recallControlShare ?? 0) > 0) return 'its context compares sessions';
  return undefined;
}

/** Whether parsing makes another value of one, but for members with a default. */
function isChanging(schema: Schema): boolean {
  let isOne = false;
  walkSchema(schema, (each) => {
    const { type, checks = [], ...rest } = (each as Schema)._zod.def;
    const overwrites = checks.some(({ _zod }) => _zod.def.check === 'overwrite');
    isOne ||= overwrites || ['catch', 'prefault'].includes(type) || ('coerce' in rest && rest.coerce === true);
  });
  return isOne;
}

const BESIDES = ['probe', 'probeFences', 'afterSilence', 'compensate', 'compensateUnknown'] as const;

function cardOfEffect(effect: EffectDefinition & Partial<Pick<Effect, 'response'>>): Card['effects'][number] {
  const { operation, kind, timeoutMs, response } = effect;
  return {
    ...{ operation, kind, timeoutMs },
    response: (response === undefined ? {} : wholeSchema(response, 'output', 'any')) as never,
    has: BESIDES.filter((name) => effect[name] !== undefined && effect[name] !== false),
  };
}
