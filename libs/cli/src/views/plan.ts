/** Owns how a recovery plan reads: what the log says, what would be asked, and what follows from each answer. Pure. */

import { isoTime, type ProbeAnswer, type RecoveryAction } from '@tidemark/core';
import type { PlannedEffect, PlannedNext, RecoveryPlan } from '@tidemark/runtime';
import { commandLine, showCommand, stateWords } from '../text/shell.ts';
import { ago, counted, dateTime, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';
import type { Asked } from './question.ts';

const INDENT = '  ';

export interface PlanView {
  readonly plan: RecoveryPlan;
  /** Of the newest checkpoint; null before the first. */
  readonly checkpoint: { readonly step: string | null; readonly atMs: number; readonly lastAction: string } | null;
  readonly asked: Asked | undefined;
  /** Name and version; null where the definition isn't known here. */
  readonly definition: string | null;
  readonly probed: boolean;
  /** As the user named it. */
  readonly folder: string | undefined;
  readonly nowMs: number;
}

export function planLines(view: PlanView, paintTitle: (text: string) => string): readonly string[] {
  const sections = [
    ['What the log says', logLines(view)],
    [view.plan.next.kind === 'asks' ? 'Effects, once it goes on' : 'Effects', effectsLines(view)],
    ['Then', nextLines(view.plan.next, view)],
  ] as const;
  const lines = sections.flatMap(([title, body], at) => [
    ...(at === 0 ? [] : ['']),
    paintTitle(title),
    ...body.map((line) => `${INDENT}${line}`),
  ]);
  return [...lines, '', 'Nothing was changed.'];
}

function logLines({ plan, checkpoint, nowMs }: PlanView): readonly string[] {
  const { crashes, lease } = plan;
  const times = crashes.timesMs.map((atMs) => dateTime(atMs)).join(', ');
  const died =
    crashes.count === 0
      ? 'no holder died since the newest checkpoint'
      : `${counted(crashes.count, 'holder')} died since the newest checkpoint, ${crashes.lastHourCount} within the hour (${times}); ${leftWords(plan)}`;
  return [
    `status: ${plan.status}`,
    lease === null ? 'held by nobody' : `held by ${printable(lease.holder)} (epoch ${lease.epoch})`,
    died,
    checkpoint === null
      ? 'newest checkpoint: none yet, it begins at the start'
      : `newest checkpoint: #${plan.checkpoint} ${printable(checkpoint.step ?? '')}, ${ago(checkpoint.atMs, nowMs)}: ${printable(checkpoint.lastAction)}`,
  ];
}

const leftWords = ({ crashes }: RecoveryPlan): string =>
  `${counted(crashes.attemptsLeftCount, 'more attempt')} before a person is asked`;

function effectsLines({ plan, definition, probed }: PlanView): readonly string[] {
  if (plan.effects.length === 0) return ['none that the next holder would look at'];
  const unknown =
    definition === null
      ? ['(The definition is not known here: --workflows names its module, and the plan says more.)']
      : [];
  return [...unknown, ...plan.effects.flatMap((effect) => effectLines(effect, probed))];
}

function effectLines(effect: PlannedEffect, probed: boolean): readonly string[] {
  const { key, kind, status, of, task, outcomes, waitMs } = effect;
  const where = of === 'newest-checkpoint' ? 'of the newest checkpoint' : `of pending task ${task}`;
  const outcomeLines = outcomes.map(({ answer, action }) => {
    const wait =
      answer === 'not-done' && waitMs > 0 ? `after ${duration(waitMs)}, in which a late call could arrive, ` : '';
    return `${INDENT}${answerWords(answer, effect)} → ${wait}${ACTION_WORDS[action]}`;
  });
  return [`${printable(key)}: ${kind}, ${status}, ${where}; ${probeWords(effect, probed)}`, ...outcomeLines];
}

function probeWords({ probe, asks, said }: PlannedEffect, probed: boolean): string {
  if (!asks) return 'nobody is asked about it';
  if (probe === 'none') return 'no probe';
  if (probe === 'unknown') return 'whether it has a probe is not known here';
  if (said !== null) return `its probe was asked now and said '${said}'`;
  return probed ? 'its probe gave no answer' : 'its probe would be asked';
}

function answerWords(answer: ProbeAnswer, { status, asks, said, probe }: PlannedEffect): string {
  if (!asks) return 'known';
  if (answer === 'none') return probe === 'none' ? 'nobody to ask' : 'if there is nobody to ask';
  const what = {
    done: status === 'done' ? 'it is still there' : 'it happened',
    'not-done': 'it did not happen',
    unknown: 'it cannot tell',
  };
  return said === null ? `if it says that ${what[answer]}` : `so ${what[answer]}`;
}

const ACTION_WORDS: Readonly<Record<RecoveryAction, string>> = {
  'go-on': 'nothing is to be done about it',
  'record-done': 'its response is recorded, and the step goes on with it',
  'call-again': 'it is called again with the same key',
  compensate: 'the workflow is undone',
  'ask-person': 'a person is asked',
  'await-confirmation': 'its confirmation is waited for',
};

function nextLines(next: PlannedNext, { plan, asked, folder }: PlanView): readonly string[] {
  switch (next.kind) {
    case 'ended':
      return ['it has ended; there is nothing to recover'];
    case 'shadow':
      return ['its agent runs elsewhere; no worker runs it'];
    case 'unreadable':
      return [`an event of a newer version (${printable(next.type)} v${next.v}) stops it until a newer worker goes on`];
    case 'undoing': {
      const recover = commandLine('tidemark', 'recover', next.undo, '--dry-run', ...stateWords(folder));
      return [`it is being undone by ${printable(next.undo)} (${printable(recover)}), and waits`];
    }
    case 'stopped':
    case 'asks': {
      const code = next.kind === 'stopped' ? next.problem : next.question.code;
      const why = asked === undefined || asked.message === '' ? code : asked.message;
      return [
        `it waits for a person: ${printable(why)}`,
        ...(asked?.answers ?? []).flatMap(({ command, means }) => [
          `${INDENT}${command}`,
          `${INDENT}${INDENT}${means}`,
        ]),
      ];
    }
    case 'ruled':
      return [
        next.ruling === 'fail'
          ? 'the next holder ends it as failed, as a person decided'
          : next.ruling === 'cancel'
            ? 'it was cancelled: the next holder undoes what it did, where that is registered, and ends it'
            : 'the next holder has it undone, as a person decided',
      ];
    case 'paused':
      return [`${printable(next.by)} paused it; nothing starts until it is resumed`];
    case 'will-ask':
      return [`the next holder runs nothing and asks a person (${next.code})`];
    case 'blocked':
      return [`nothing can run yet: ${showCommand(plan.workflow, folder)} tells what its tasks wait for`];
    case 'runs': {
      const from =
        plan.lease === null ? 'the next holder' : 'whoever holds it, or after its lease is revoked the next holder,';
      const alone = next.alone ? ', and nothing beside it' : '';
      return [`${from} goes on with task ${next.task} (${printable(next.step)})${alone}`];
    }
  }
}

export const planJson = ({ plan, checkpoint, definition, probed }: PlanView) => ({
  workflow: plan.workflow,
  status: plan.status,
  definition,
  dry_run: true,
  probes_asked: probed,
  lease: plan.lease,
  crashes: {
    count: plan.crashes.count,
    last_hour_count: plan.crashes.lastHourCount,
    attempts_left_count: plan.crashes.attemptsLeftCount,
    at: plan.crashes.timesMs.map(isoTime),
  },
  checkpoint:
    checkpoint === null
      ? null
      : { sequence_number: plan.checkpoint, step: checkpoint.step, at: isoTime(checkpoint.atMs) },
  effects: plan.effects.map(({ key, waitMs, ...effect }) => ({ idempotency_key: key, ...effect, wait_ms: waitMs })),
  next: plan.next,
});
