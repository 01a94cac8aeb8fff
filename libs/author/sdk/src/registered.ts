/**
 * Owns what a definition says of itself to processes without its code, and the definition that they make of it. It checks what callers give
 * by the schemas, and opens workflows whose first task has a worker run `begin`. No code of the user's is in it.
 */

import { toJson, wholeSchema } from '@tidemark/codec';
import { type Dispatch, InvalidError, type Json } from '@tidemark/core';
import {
  BEGIN_STEP,
  type Beginning,
  DEFAULT_RETRY,
  type Definition,
  type EffectDefinition,
  type Registration,
  type StepDefinition,
  type Upcaster,
} from '@tidemark/runtime';
import { fromJSONSchema, z } from 'zod';
import { defineEffect, type Effect } from './effect.ts';
import type { Schema } from './schema.ts';
import { walkSchema } from './schema-walk.ts';
import { unstorable } from './storable.ts';
import { defineWorkflow } from './workflow.ts';
import type { Workflow } from './workflow-spec.ts';

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

const cardSchema = z.object({
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
type Card = z.infer<typeof cardSchema>;

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

const given = <T extends object>(of: T): T =>
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

/** The definition that stands for the code. Throws `InvalidError` (`definition-unreadable`) for what a newer release wrote. */
export function registeredDefinition({ name, version, card: said }: Registration): Definition {
  const parsed = cardSchema.safeParse(said);
  if (!parsed.success) {
    const message = `What is registered of ${name} v${version} is not as this release writes it. Restart its workers, or update this process.`;
    throw new InvalidError('definition-unreadable', message, { definition: name, version });
  }
  const card = parsed.data;
  const base = defineWorkflow({
    ...{ name, version, belief: z.json(), output: z.json() },
    input: 'schema' in card.input ? fromSchema(card.input.schema) : z.json(),
    tasks: { [FIRST]: z.json() },
    flow: { [FIRST]: [] },
    begin: () => ({ belief: null, next: [] }),
    steps: { [FIRST]: () => ({}) },
    signals: mapped(card.signals, fromSchema),
    effects: card.effects.map(effectOf),
    ...given({ timeout: card.timeoutMs, placement: card.placement, onSecret: card.onSecret }),
    onFailure: card.onFailure,
  } as never) as unknown as Workflow;
  const { parseInput } = base;
  const { dispatch, input, agent, unwinds } = card;
  return {
    ...base,
    isRegistered: true,
    parseInput(value: unknown) {
      if ('needsCode' in input) throw needsCode(name, input.needsCode);
      return parseInput(value);
    },
    begin: (_input: Json, { day }: Beginning) => ({ belief: null, next: [{ step: BEGIN_STEP, input: { day } }] }),
    steps: new Map([...card.steps, { name: BEGIN_STEP }].map((step) => [step.name, stepOf(step)])),
    upcasters: new Map(card.upcastsFrom.map((from) => [from, UNKNOWN])),
    ...given({ dispatch: dispatch as Dispatch | undefined, agent, unwinds }),
    ...{
      starts: card.starts,
      flow: card.flow,
      warnings: card.warnings.map((message) => ({ code: 'registered', message })),
    },
  } as unknown as Definition;
}

/** The one step of the base, which is replaced. */
const FIRST = 'first';

/** What zod can't read is checked by the worker alone. */
function fromSchema(schema: unknown): Schema {
  return isReadable(schema) ? read(schema) : z.json();
}

const read = (schema: unknown): Schema => fromJSONSchema(closed(schema) as never) as Schema;

const isText = (schema: unknown): boolean => JSON.stringify(schema) === '{"type":"string"}';

function isReadable(schema: unknown): boolean {
  try {
    return unstorable(read(schema)).length === 0;
  } catch {
    return false;
  }
}

/** An object of the user's drops members that it doesn't name, unless its schema says so: here they are refused, as callers' are. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  // Any name is a text, and zod would make a transformation of it.
  const said = Object.entries(schema).filter(([name, value]) => name !== 'propertyNames' || !isText(value));
  const inner = Object.fromEntries(said.map(([name, value]) => [name, closed(value)]));
  return 'properties' in inner && inner.type === 'object' ? { additionalProperties: false, ...inner } : inner;
}

const mapped = <T, U>(of: Readonly<Record<string, T>>, make: (value: T) => U): Readonly<Record<string, U>> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, make(value)]));

const needsCode = (name: string, why: string): InvalidError =>
  new InvalidError(
    'definition-needs-code',
    `definition: ${name} can't be started by what its workers have registered, since ${why}. Name its module in TIDEMARK_WORKFLOWS of the coordinators, or start it where its code is.`,
    { field: 'definition' },
  );

const notHere = (): never => {
  throw new InvalidError('definition-needs-code', "The code of this definition isn't loaded here: a worker runs it.");
};

/** Nothing that it has is called here; recovery's plan depends on what there is. */
function effectOf({ operation, kind, timeoutMs, response, has }: Card['effects'][number]): EffectDefinition {
  const functions = { probe: notHere, compensate: notHere, compensateUnknown: notHere };
  const all = { ...functions, probeFences: true, afterSilence: 'call' };
  return defineEffect({
    ...{ operation, kind, timeoutMs, request: z.json(), response: fromSchema(response), call: notHere },
    ...Object.fromEntries(has.map((name) => [name, all[name]])),
  });
}

const stepOf = ({ name, plans, compensates }: z.infer<typeof stepCard>): StepDefinition => ({
  ...{ name, durability: 'durable', retry: DEFAULT_RETRY, run: notHere },
  mayAdd: new Set<string>(),
  parseInput: (value) => toJson(value ?? null, `input of step ${name}`),
  parseOutput: (value) => toJson(value ?? null, `output of step ${name}`),
  ...(plans && { plans }),
  ...(compensates && { compensate: notHere }),
});

/** Of versions that it can run: only the code can convert what they stored. */
const UNKNOWN: Upcaster = { belief: notHere, task: notHere };
