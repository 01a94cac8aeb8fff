/**
 * Owns callers from outside: a person who answers the questions of parked workflows by the ledger, a sender who carries receivers'
 * confirmations until they count, and what functions wait for: signals, answers, a cancellation. All use a client of their own, may repeat
 * themselves, and may die at any moment. Must not know of faults.
 */

import { ConflictError, InvalidError, type Resolution, TidemarkError, UnavailableError } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import type { Client, Ports } from '@tidemark/runtime';
import { closed, type NaiveEffect, outcomeIsOpen } from '../naive/stream.ts';
import type { Message } from './acceptance.ts';
import { FUNCTIONS, PAID, PAID_COUNT } from './functions.ts';
import type { Outside } from './outside.ts';
import type { SimulatedProcess } from './process.ts';
import type { Witness } from './witness.ts';
import { COMPENSATED } from './workloads.ts';

export interface Speaker {
  readonly process: SimulatedProcess;
  readonly client: Client;
  readonly ports: Pick<Ports, 'store'>;
  readonly outside: Outside;
  readonly witness: Witness;
  readonly violations: string[];
  /** Kills the process that is this holder. */
  readonly kill: (holder: string) => void;
  readonly onError: (where: string, error: unknown) => void;
}

const POLL_MS = { min: 200, max: 900 };
const THINK_MS = { min: 20, max: 1_500 };
/** Milliseconds for which a call of unknown fate could still arrive; after that, a call that the ledger doesn't have was not made. */
const LATE_CALL_MS = 8_000;
const TWICE = 0.25;
/** Where both are true, one is chosen. */
const UNDO_INSTEAD = 0.3;
const FAIL_INSTEAD = 0.05;
const PROBE_INSTEAD = 0.5;

export async function answerQuestions(speaker: Speaker): Promise<void> {
  const { process, ports, onError } = speaker;
  const answering = new Set<string>();
  for (;;) {
    await process.sleep(process.random.between(POLL_MS.min, POLL_MS.max));
    try {
      for (const row of await ports.store.workflows({ status: 'parked', limit: 100 })) {
        const question = row.question?.id;
        if (question === undefined || answering.has(question)) continue;
        answering.add(question);
        void answer(speaker, row)
          .catch((error: unknown) => isOvertaken(error) || onError(`answer to ${row.workflow}`, error))
          .finally(() => answering.delete(question));
      }
    } catch (error) {
      onError('questions', error);
    }
  }
}

/** Somebody else answered meanwhile, or the question resolved itself. */
const isOvertaken = (error: unknown): boolean => error instanceof ConflictError;

async function answer(speaker: Speaker, { workflow, question }: WorkflowSummary): Promise<void> {
  const { process, client, witness, outside, violations } = speaker;
  const { random } = process;
  await process.sleep(random.between(THINK_MS.min, THINK_MS.max));
  const { id, code, key } = question!;
  const { resolution, response } = await truth(speaker, workflow, code, key);
  const by = process.name;
  const decision = {
    resolution,
    by,
    why: `the ledger says so (${outside.ledger.size} entries)`,
    // Names the question, since another one may be open by now.
    question: id,
    ...(response === undefined ? {} : { response }),
  };
  const twice = random.chance(TWICE);
  const given = twice ? [client.decide(workflow, decision), client.decide(workflow, decision)] : [];
  const [decided] = await Promise.all(twice ? given : [client.decide(workflow, decision)]);
  const standing = witness.decided.get(decided!.question);
  if (standing?.resolution !== decided!.resolution || standing.by !== by) {
    violations.push(
      `decide: ${by} was told that ${resolution} counts for ${workflow}, and the log has ${standing?.resolution}`,
    );
  }
}

interface Truth {
  readonly resolution: Resolution;
  readonly response?: unknown;
}

async function truth(
  { process, witness, outside, kill }: Speaker,
  workflow: string,
  code: string,
  key: string | null,
): Promise<Truth> {
  if (code === 'request-changed' || code === 'function-changed') return { resolution: 'fail' };
  const effect = (): NaiveEffect | undefined =>
    witness
      .stream(workflow)
      ?.tasks.flatMap(({ effects }) => effects)
      .find((one) => one.key === key);
  const open = (): boolean => [effect()].some((one) => one !== undefined && outcomeIsOpen(one));
  for (const silent of effect()?.silentHolders ?? []) kill(silent);
  if (code === 'caller-silent' && process.random.chance(PROBE_INSTEAD)) return { resolution: 'retry' };
  if (key !== null && open() && !outside.ledger.has(key)) {
    await process.sleep(LATE_CALL_MS);
    while (outside.acceptances.isOpen(key as never)) await process.sleep(LATE_CALL_MS / 10);
  }
  const stream = witness.stream(workflow);
  const isOrdinary = stream?.compensates === null;
  if (isOrdinary && stream.undo === null && COMPENSATED.has(stream.definition) && process.random.chance(UNDO_INSTEAD)) {
    return { resolution: 'compensate' };
  }
  if (isOrdinary && process.random.chance(FAIL_INSTEAD)) return { resolution: 'fail' };
  if (key === null || !open()) return { resolution: 'retry' };
  const known = outside.ledger.get(key);
  return known === undefined ? { resolution: 'not-done' } : { resolution: 'done', response: known.response };
}

/** A message is sent after this time, and again after it, in milliseconds. */
const SEND_MS = { min: 0, max: 1_500 };

export function carryConfirmations(speaker: Speaker): void {
  const { outside, process } = speaker;
  for (const message of outside.acceptances.messages) if (!message.isDelivered) void carry(speaker, message);
  outside.acceptances.onMessage = (message) => void process.deliver(() => void carry(speaker, message));
}

async function carry(speaker: Speaker, message: Message): Promise<void> {
  const { process, onError } = speaker;
  while (!message.isDelivered) {
    await process.sleep(process.random.between(SEND_MS.min, SEND_MS.max));
    try {
      await send(speaker, message);
      if (process.random.chance(TWICE)) await send(speaker, message);
    } catch (error) {
      if (isSettled(speaker, message, error)) message.isDelivered = true;
      else if (!(error instanceof UnavailableError) && !isEarly(error))
        onError(`confirmation of ${message.token}`, error);
    }
  }
}

async function send({ client, witness, violations }: Speaker, message: Message): Promise<void> {
  const { workflow, token, confirmation } = message;
  await client.confirm(workflow, token, confirmation);
  message.isDelivered = true;
  const outcome = 'error' in confirmation ? 'failed' : 'done';
  if (witness.confirmed.get(token) === outcome) return;
  violations.push(
    `confirm: the sender was told that ${token} counts as ${outcome}, and the log has ${witness.confirmed.get(token)}`,
  );
}

const isEarly = (error: unknown): boolean => error instanceof InvalidError && error.code === 'token-unknown';

/** Nobody needs it any more: the workflow has ended, or the outcome is known from elsewhere. */
function isSettled({ witness }: Speaker, { key, workflow }: Message, error: unknown): boolean {
  if (!(error instanceof TidemarkError)) return false;
  if (error instanceof ConflictError) return true;
  const stream = witness.stream(workflow);
  const status = witness.effects.get(key)?.status;
  return (
    isEarly(error) && (status === 'done' || stream === undefined || closed(stream) || stream.status === 'compensating')
  );
}

/** Time between two acts of those whom functions wait for, in milliseconds: from often to seldom, so that some come first and some last. */
const ACT_MS = { min: 0, max: 700 };

interface Started {
  readonly id: string;
  readonly workload: string;
  readonly atMs: number;
}

/** Sends each function its signals in turn, cancels those that are to be, and answers what they ask. */
export function attendFunctions(speaker: Speaker, starts: readonly Started[]): void {
  const attended = starts.filter(({ workload }) => FUNCTIONS.some((name) => name === workload));
  for (const start of attended) void attend(speaker, start);
  if (attended.length > 0) void approveAll(speaker);
}

async function attend({ process, client, onError }: Speaker, { id, workload, atMs }: Started): Promise<void> {
  const acts =
    workload === 'retreat'
      ? [() => client.cancel(id, { by: process.name, why: 'it must end' })]
      : Array.from({ length: workload === 'script' ? PAID_COUNT : 0 }, (_, at) => async () => {
          const signals = () => client.signal(id, PAID, { paid: at + 1 }, { key: `${PAID}-${at + 1}` });
          await Promise.all(process.random.chance(TWICE) ? [signals(), signals()] : [signals()]);
        });
  await process.sleep(atMs);
  for (const act of acts) {
    for (let isDone = false; !isDone; ) {
      await process.sleep(process.random.between(ACT_MS.min, ACT_MS.max));
      try {
        await act();
        isDone = true;
      } catch (error) {
        if (error instanceof ConflictError) return;
        const isEarly = error instanceof InvalidError && error.code === 'workflow-unknown';
        if (!isEarly) onError(`act for ${id}`, error);
      }
    }
  }
}

/** Answers with the title of the question. */
async function approveAll({ process, client, onError }: Speaker): Promise<void> {
  for (;;) {
    await process.sleep(process.random.between(POLL_MS.min, POLL_MS.max));
    try {
      const { approvals } = await client.approvals();
      for (const { workflow, task, definition, title } of approvals) {
        if (definition !== 'script') continue;
        const answer = { approved: true, by: process.name, value: title };
        await client.approve(workflow, task, answer).catch((error: unknown) => {
          if (!isOvertaken(error)) throw error;
        });
      }
    } catch (error) {
      onError('approvals', error);
    }
  }
}
