/**
 * Owns the definition that processes without the code make of what is registered. It checks what callers give by the schemas, and opens
 * workflows whose first task has a worker run `begin`. No code of the user's is in it.
 */

import { toJson } from '@tidemark/codec';
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
import { z } from 'zod';
import { defineEffect } from '../effect.ts';
import { defineWorkflow } from '../workflow.ts';
import type { Workflow } from '../workflow-spec.ts';
import { type Card, cardSchema, given } from './card.ts';
import { fromSchema } from './json-schema.ts';

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

const stepOf = ({ name, plans, compensates }: Card['steps'][number]): StepDefinition => ({
  ...{ name, durability: 'durable', retry: DEFAULT_RETRY, run: notHere },
  mayAdd: new Set<string>(),
  parseInput: (value) => toJson(value ?? null, `input of step ${name}`),
  parseOutput: (value) => toJson(value ?? null, `output of step ${name}`),
  ...(plans && { plans }),
  ...(compensates && { compensate: notHere }),
});

/** Of versions that it can run: only the code can convert what they stored. */
const UNKNOWN: Upcaster = { belief: notHere, task: notHere };
