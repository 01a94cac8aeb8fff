/** Owns the route that predicts what the next holder of a workflow would do. Changes nothing; calls probes where that is requested. */

import { decodePayload } from '@tidemark/codec';
import { type EffectKey, isoTime, messageOf, type ProbeAnswer, type StreamState, streamFromJson } from '@tidemark/core';
import type { CheckpointRow } from '@tidemark/ports';
import {
  answerInTime,
  askable,
  definitionFor,
  type PlannedNext,
  type RecoveryPlan,
  recoveryPlan,
  withUndos,
} from '@tidemark/runtime';
import { z } from 'zod';
import { type Backend, unknownWorkflow } from '../backend.ts';
import { content, words } from '../redaction.ts';
import { ok, route } from '../route.ts';
import { flagSchema, timeSchema, workflowParams } from '../schemas/common.ts';
import { questionSchema, STATUSES } from '../schemas/workflow.ts';
import { questionIn } from '../shapes/question.ts';

/** Longest wait for one probe of a recovery plan, and for all of them, in milliseconds. */
const PROBE_ANSWER_MAX_MS = 10_000;
const PROBES_ANSWER_MAX_MS = 20_000;

const answerSchema = z.enum(['done', 'not-done', 'unknown', 'none']);

const plannedSchema = z
  .object({
    idempotency_key: z.string(),
    operation: z.string(),
    task: z.string(),
    kind: z.enum(['pure', 'idempotent', 'irreversible']),
    status: z.enum(['intended', 'pending', 'done', 'failed']),
    of: z.enum(['newest-checkpoint', 'pending-task']),
    probe: z
      .enum(['registered', 'none', 'unknown'])
      .meta({ description: '`unknown`: the definition is not known here, or does not list the effect.' }),
    external: z.boolean().meta({ description: 'Its outcome depends on the outside.' }),
    said: answerSchema.nullable().meta({ description: 'What its probe returned, just now.' }),
    problem: content(z.string()).meta({ description: 'Why its probe was not called, or gave no answer.' }),
    outcomes: z
      .array(
        z.object({
          answer: answerSchema,
          action: z.enum(['go-on', 'record-done', 'call-again', 'compensate', 'ask-person', 'await-confirmation']),
        }),
      )
      .readonly()
      .meta({ description: 'What follows from each answer that is possible.' }),
    wait_ms: z.int().meta({ description: "Before `not-done` counts: a late call's time." }),
  })
  .meta({ id: 'PlannedEffect' });

const nextSchema = z
  .union([
    z.object({ kind: z.enum(['ended', 'shadow', 'blocked', 'needs-person', 'stopped']) }),
    z.object({ kind: z.literal('unreadable'), type: z.string(), v: z.int() }),
    z.object({ kind: z.literal('compensating'), undo: z.string() }),
    z.object({ kind: z.literal('ruled'), ruling: z.enum(['compensate', 'fail', 'cancel']) }),
    z.object({ kind: z.literal('paused'), by: z.string() }),
    z.object({ kind: z.literal('will-park'), code: z.string() }),
    z.object({
      kind: z.literal('runs'),
      task: z.string(),
      step: z.string(),
      alone: z.boolean().meta({ description: 'Without any other beside it, since it may have killed its holder.' }),
      beside_max: z.int().nullable().meta({
        description:
          'How many other workflows its holder may run beside it, since it may have killed the last; null: any number.',
      }),
    }),
  ])
  .meta({
    description: 'What comes after the effects; `needs-person` and `stopped` wait for the answer to `question`.',
  });

const recoverySchema = z
  .object({
    workflow: z.string(),
    tenant: z.string(),
    status: z.enum(STATUSES),
    definition: z.string().nullable().meta({ description: 'Name and version; null where it is not known here.' }),
    probes_asked: z.boolean(),
    lease: z.object({ epoch: z.int(), holder: z.string() }).nullable(),
    crashes: z.object({
      count: z.int().meta({ description: 'Holders that died since the newest checkpoint.' }),
      last_hour_count: z.int(),
      attempts_left_count: z.int().meta({ description: 'Before it needs a person.' }),
      at: z.array(timeSchema),
    }),
    checkpoint: z
      .object({ sequence_number: z.int(), step: z.string().nullable(), at: timeSchema, last_action: words() })
      .nullable(),
    effects: z.array(plannedSchema),
    next: nextSchema,
    question: questionSchema.nullable(),
  })
  .meta({ id: 'Recovery', description: 'What the next holder would do.' });

export const getRecovery = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/recovery',
  summary: 'What the next holder of a workflow would do',
  description:
    'Predicted from the folded state, its effects and the definition, where this process has it; nothing is changed. With `probe` the probes of its effects are called now, which needs the right to operate; one that bars late calls is not called, since that would change something.',
  right: 'content',
  problems: ['store-rebuilding'],
  needs: [
    {
      of: 'operate',
      when: ({ query }) => query.probe === true,
      why: "probe: calling probes needs the right 'operate'; leave it out.",
    },
  ],
  params: workflowParams,
  query: z.object({ probe: flagSchema }),
  answers: { 200: recoverySchema },
  async handle({ params, query: { probe }, principal, backend, signal }) {
    const { reads } = backend;
    const { workflow, tenant, sequence } = await backend.find(principal, params.workflow);
    const [snapshot] = await reads.loadStreams([workflow], { payloads: false });
    if (snapshot === undefined) throw unknownWorkflow(workflow);
    const state = streamFromJson(snapshot.state, snapshot.tasks);
    const definition = definitionFor(withUndos(backend.definitions, reads), state);
    const [head] = sequence === 0 ? [] : await reads.checkpoints(workflow, { from: sequence, limit: 1 });
    const headEffects = head?.task == null ? [] : await reads.effects(workflow, { task: head.task });
    const probes = probe ? askable(state, headEffects, definition) : [];
    const { answers, problems } = await askProbes(backend, state, probes, signal);
    const nowMs = backend.ports.clock.nowMs();
    const plan = recoveryPlan({
      ...{ state, headEffects, definition, answers, nowMs },
      recovery: backend.ports.recovery,
    });
    return ok({
      ...planJson(plan, problems),
      ...{ tenant, probes_asked: probe },
      definition: definition === undefined ? null : `${definition.name} v${definition.version}`,
      checkpoint: head === undefined ? null : checkpointJson(head),
      question: await questionIn(reads, state),
    });
  },
});

type Probes = ReturnType<typeof askable>;

/** Calls them one after the other, each within its time; a failed one has no answer. */
async function askProbes({ ports, reads }: Backend, { workflow }: StreamState, probes: Probes, signal: AbortSignal) {
  const answers = new Map<EffectKey, ProbeAnswer>();
  const problems = new Map<EffectKey, string>();
  const { clock } = ports;
  const endMs = clock.monotonicMs() + PROBES_ANSWER_MAX_MS;
  for (const { key, effect } of probes) {
    const timeoutMs = Math.min(effect.timeoutMs, PROBE_ANSWER_MAX_MS, endMs - clock.monotonicMs());
    if (effect.probeFences === true) problems.set(key, 'it also bars late calls, which would change something');
    else if (timeoutMs <= 0) problems.set(key, 'the probes before it took all of the time');
    else {
      const [row] = await reads.effectPage(workflow, { key, limit: 1 });
      const request = row?.request == null ? null : decodePayload('EffectIntended', row.request).request;
      const limits = { what: `The probe of ${effect.operation}`, timeoutMs };
      try {
        const said = await answerInTime(clock, signal, limits, (asked) =>
          effect.probe!(key, { signal: asked.signal, request }),
        );
        answers.set(key, said.status);
      } catch (error) {
        signal.throwIfAborted();
        problems.set(key, messageOf(error));
      }
    }
  }
  return { answers, problems };
}

const planJson = ({ crashes, effects, ...plan }: RecoveryPlan, problems: ReadonlyMap<EffectKey, string>) => ({
  ...{ workflow: plan.workflow, status: plan.status, lease: plan.lease },
  crashes: {
    count: crashes.count,
    last_hour_count: crashes.lastHourCount,
    attempts_left_count: crashes.attemptsLeftCount,
    at: crashes.timesMs.map(isoTime),
  },
  effects: effects.map(({ key, waitMs, ...effect }) => {
    const problem = problems.get(key);
    return { idempotency_key: key, ...effect, ...(problem !== undefined && { problem }), wait_ms: waitMs };
  }),
  next: nextJson(plan.next),
});

/** The question stands beside it. */
function nextJson(next: PlannedNext): z.input<typeof nextSchema> {
  if (next.kind === 'needs-person' || next.kind === 'stopped') return { kind: next.kind };
  if (next.kind !== 'runs') return next;
  const { besideMax, ...runs } = next;
  return { ...runs, beside_max: besideMax };
}

const checkpointJson = ({ sequence, step, atMs, lastAction }: CheckpointRow) => ({
  ...{ sequence_number: sequence, step, at: isoTime(atMs), last_action: lastAction },
});
