/**
 * Owns `tidemark recover`: with `--dry-run` tells what the next holder would do and changes nothing; without it takes a stuck
 * lease from its holder, so that another goes on. Must not run anything of a workflow itself.
 */

import { decodePayload } from '@tidemark/codec';
import {
  type EffectKey,
  InvalidError,
  isClosed,
  type Json,
  messageOf,
  type ProbeAnswer,
  type Sequence,
  type StreamState,
  streamFromJson,
  TidemarkError,
} from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { CheckpointRow, EffectRow, WorkflowSummary } from '@tidemark/ports';
import {
  answerInTime,
  askable,
  type Definition,
  definitionFor,
  recoveryPlan,
  systemClock,
  withUndos,
} from '@tidemark/runtime';
import { noState } from '../failures.ts';
import { PROBE_ASK_MAX_MS } from '../limits.ts';
import type { Session } from '../session.ts';
import { noticeStall } from '../stall.ts';
import { readDefinitions } from '../state/definitions.ts';
import { type Desk, isIdle } from '../state/desk.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { whoGoesOn } from '../state/who-goes-on.ts';
import { commandLine, showCommand, stateWords } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { type PlanView, planJson, planLines } from '../views/plan.ts';
import { askedOf } from '../views/question.ts';

export interface RecoverOptions {
  readonly dryRun?: boolean | undefined;
  readonly probe?: boolean | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

export async function recover(session: Session, id: string, options: RecoverOptions): Promise<number> {
  const { env, cwd, terminal } = session;
  const { dryRun = false, probe = false, workflows = [] } = options;
  if (probe && !dryRun) {
    throw new InvalidError(
      'probe-unfit',
      '--probe asks for a plan: use it with --dry-run. A worker asks its probes by itself.',
    );
  }
  if (probe && workflows.length === 0) {
    throw new InvalidError('probe-unfit', '--probe needs --workflows: the modules hold the probes.');
  }
  const target = targetOf(options.state, env, cwd);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  const given = workflows.length === 0 ? [] : await readDefinitions(workflows, cwd);
  const desk = await openToRead(target);
  try {
    if (!dryRun) return await takeLease(session, desk, id, options);
    const view = await planOf(session, desk, id, options, given);
    terminal.document(planJson(view));
    if (!terminal.json) {
      terminal.line(`${terminal.paint('bold', printable(id))}  ${view.definition ?? ''}`.trimEnd());
      terminal.lines(planLines(view, (text) => terminal.paint('bold', text)));
    }
    return EXIT.ok;
  } finally {
    await desk.close();
  }
}

async function planOf(
  session: Session,
  desk: Desk,
  id: string,
  { probe = false, state: folder }: RecoverOptions,
  given: readonly Definition[],
): Promise<PlanView> {
  const { reads } = desk;
  const { workflow, sequence } = await requireWorkflow(desk, id);
  const [snapshot] = await reads.loadStreams([workflow]);
  if (snapshot === undefined) throw new InvalidError('workflow-unknown', `No rows of ${id} are there any more.`);
  const state = streamFromJson(snapshot.state, snapshot.tasks);
  const definition = definitionFor(withUndos(given, reads), state);
  const head =
    sequence === 0 ? undefined : (await reads.checkpoints(workflow, { from: sequence as Sequence, limit: 1 }))[0];
  const headEffects = head?.task == null ? [] : await reads.effects(workflow, { task: head.task });
  const requests = probe ? requestsOf(await reads.effects(workflow)) : undefined;
  const askedNow = requests && (await askProbes(session, askable(state, headEffects, definition), requests));
  const answers = askedNow ?? new Map<EffectKey, ProbeAnswer>();
  const nowMs = Date.now();
  return {
    plan: recoveryPlan({ state, headEffects, definition, answers, nowMs }),
    checkpoint: checkpointOf(head),
    asked: await askedOf(reads, snapshot, folder),
    definition: definition === undefined ? null : `${definition.name} v${definition.version}`,
    probed: probe,
    folder,
    nowMs,
  };
}

const checkpointOf = (row: CheckpointRow | undefined): PlanView['checkpoint'] =>
  row === undefined ? null : { step: row.step, atMs: row.atMs, lastAction: row.lastAction };

const requestsOf = (rows: readonly EffectRow[]): ReadonlyMap<EffectKey, Json> =>
  new Map(
    rows.map(({ key, request }) => [key, request === null ? null : decodePayload('EffectIntended', request).request]),
  );

/** One after the other, each within its time; one that fails is told, and has said nothing. */
async function askProbes(
  { terminal }: Session,
  effects: ReturnType<typeof askable>,
  requests: ReadonlyMap<EffectKey, Json>,
): Promise<ReadonlyMap<EffectKey, ProbeAnswer>> {
  const answers = new Map<EffectKey, ProbeAnswer>();
  const { signal: never } = new AbortController();
  for (const { key, effect } of effects) {
    const what = `The probe of ${effect.operation}`;
    if (effect.probeFences === true) {
      terminal.warn(`${printable(key)}: ${what} also bars late calls, which would change something; it is not asked.`);
      continue;
    }
    const limits = { what, timeoutMs: Math.min(effect.timeoutMs, PROBE_ASK_MAX_MS) };
    const request = requests.get(key) ?? null;
    try {
      const said = await answerInTime(systemClock, never, limits, ({ signal }) =>
        effect.probe!(key, { signal, request }),
      );
      answers.set(key, said.status);
    } catch (error) {
      terminal.warn(`${printable(key)}: ${printable(messageOf(error))}`);
    }
  }
  return answers;
}

async function takeLease(session: Session, desk: Desk, id: string, { state: folder }: RecoverOptions): Promise<number> {
  const { terminal } = session;
  const row = await requireWorkflow(desk, id);
  const { workflow } = row;
  const plan = commandLine('tidemark', 'recover', workflow, '--dry-run', ...stateWords(folder));
  if (isClosed(row as Pick<StreamState, 'status'> as StreamState)) {
    throw new InvalidError(
      'workflow-closed',
      `${workflow} has ended: it is ${row.status}. There is nothing to recover.`,
    );
  }
  if (row.status === 'parked') {
    const show = showCommand(workflow, folder);
    throw new TidemarkError(
      'workflow-parked',
      `${workflow} waits for a person (${row.reason}); ${show} tells how to answer.`,
    );
  }
  if (row.holder === null) {
    terminal.document({ workflow, revoked: null });
    terminal.line(`Nobody holds ${printable(workflow)}. ${goesOnWords(row, desk, folder)}`);
    terminal.note(terminal.paintNote('dim', `${plan} tells what comes.`));
    return EXIT.ok;
  }
  terminal.note(
    `${printable(workflow)} is held by ${printable(row.holder)} (epoch ${row.epoch}); its lease is taken away now.`,
  );
  const lease = await noticeStall(terminal, desk.place, desk.revoke(workflow));
  terminal.document({ workflow, revoked: lease === null ? null : { epoch: lease.epoch, holder: lease.holder } });
  const who = lease === null ? 'It had been let go meanwhile.' : 'What that holder still does no longer counts.';
  terminal.line(`${who} ${whoGoesOn(desk)}`);
  return EXIT.ok;
}

function goesOnWords({ workflow, runnable, status }: WorkflowSummary, desk: Desk, folder: string | undefined): string {
  const show = showCommand(workflow, folder);
  if (status === 'compensating') return `It is being undone and stands still meanwhile; ${show} tells more.`;
  return runnable || isIdle(desk)
    ? whoGoesOn(desk)
    : `None of its tasks can run yet; ${show} tells what they wait for.`;
}
