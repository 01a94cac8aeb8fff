/** Owns how a recovery plan reads: what the log says, which probes would be called, and what follows from each answer. Pure. */

import type { Answer } from '@tidemark/client';
import { type At, atWords, commandLine, showCommand } from '../text/shell.ts';
import { ago, counted, dateTime, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { answersOf } from './answers.ts';

const INDENT = '  ';

type Plan = Answer<'GET /v1/workflows/{workflow}/recovery'>;
type PlannedEffect = Plan['effects'][number];
type Outcome = PlannedEffect['outcomes'][number];

export interface PlanView {
  readonly plan: Plan;
  /** As the user named it. */
  readonly at: At;
  readonly nowMs: number;
}

export function planLines(view: PlanView, paintTitle: (text: string) => string): readonly string[] {
  const sections = [
    ['What the log says', logLines(view)],
    [view.plan.next.kind === 'needs-person' ? 'Effects, when it resumes' : 'Effects', effectsLines(view)],
    ['Then', nextLines(view.plan.next, view)],
  ] as const;
  const lines = sections.flatMap(([title, body], at) => [
    ...(at === 0 ? [] : ['']),
    paintTitle(title),
    ...body.map((line) => `${INDENT}${line}`),
  ]);
  return [...lines, '', 'Nothing was changed.'];
}

function logLines({ plan, nowMs }: PlanView): readonly string[] {
  const { crashes, lease, checkpoint } = plan;
  const times = crashes.at.map((at) => dateTime(Date.parse(at))).join(', ');
  const died =
    crashes.count === 0
      ? 'no holder died since the newest checkpoint'
      : `${counted(crashes.count, 'holder')} died since the newest checkpoint, ${crashes.last_hour_count} within the hour (${times}); ${attemptsWords(plan)}`;
  return [
    `status: ${plan.status}`,
    lease === null ? 'held by nobody' : `held by ${printable(lease.holder)} (epoch ${lease.epoch})`,
    died,
    checkpoint === null
      ? 'newest checkpoint: none yet, it begins at the start'
      : `newest checkpoint: #${checkpoint.sequence_number} ${printable(checkpoint.step ?? '')}, ${ago(Date.parse(checkpoint.at), nowMs)}: ${printable(checkpoint.last_action)}`,
  ];
}

const attemptsWords = ({ crashes }: Plan): string =>
  `${counted(crashes.attempts_left_count, 'more attempt')} before it needs a person`;

function effectsLines({ plan }: PlanView): readonly string[] {
  const { effects, definition, probes_asked: probed } = plan;
  if (effects.length === 0) return ['none that concern the next holder'];
  const unknown =
    definition === null
      ? [
          '(The definition is not known there. For a folder that nobody holds --workflows names its module, and the plan says more.)',
        ]
      : [];
  return [...unknown, ...effects.flatMap((effect) => effectLines(effect, probed))];
}

function effectLines(effect: PlannedEffect, probed: boolean): readonly string[] {
  const { idempotency_key: key, kind, status, of, task, outcomes, wait_ms: waitMs } = effect;
  const where = of === 'newest-checkpoint' ? 'of the newest checkpoint' : `of pending task ${task}`;
  const outcomeLines = outcomes.map(({ answer, action }) => {
    const wait =
      answer === 'not-done' && waitMs > 0 ? `after ${duration(waitMs)}, in which a late call could arrive, ` : '';
    return `${INDENT}${answerWords(answer, effect)} → ${wait}${ACTION_WORDS[action]}`;
  });
  return [`${printable(key)}: ${kind}, ${status}, ${where}; ${probeWords(effect, probed)}`, ...outcomeLines];
}

function probeWords({ probe, external, said, problem }: PlannedEffect, probed: boolean): string {
  if (!external) return 'its outcome is recorded';
  if (probe === 'none') return 'no probe';
  if (probe === 'unknown') return 'whether it has a probe is not known there';
  if (said !== null) return `its probe was called now and returned '${said}'`;
  if (problem !== undefined) return `its probe gave no answer (${printable(problem)})`;
  return probed ? 'its probe gave no answer' : 'its probe would be called';
}

function answerWords(answer: Outcome['answer'], { status, external, said, probe }: PlannedEffect): string {
  if (!external) return 'known';
  if (answer === 'none') return probe === 'none' ? 'no probe' : 'if it has no probe';
  const what = {
    done: status === 'done' ? 'it is still there' : 'it happened',
    'not-done': 'it did not happen',
    unknown: 'it cannot tell',
  };
  return said === null ? `if it says that ${what[answer]}` : `so ${what[answer]}`;
}

const ACTION_WORDS: Readonly<Record<Outcome['action'], string>> = {
  'go-on': 'nothing is to be done about it',
  'record-done': 'its response is recorded, and the step continues with it',
  'call-again': 'it is called again with the same key',
  compensate: 'the workflow is compensated',
  'ask-person': 'it needs a person',
  'await-confirmation': 'its confirmation is waited for',
};

function nextLines(next: Plan['next'], { plan, at }: PlanView): readonly string[] {
  switch (next.kind) {
    case 'ended':
      return ['it has ended; there is nothing to recover'];
    case 'shadow':
      return ['its agent runs elsewhere; no worker runs it'];
    case 'unreadable':
      return [
        `an event of a newer version (${printable(next.type)} v${next.v}) stops it until a newer worker resumes it`,
      ];
    case 'compensating': {
      const recover = commandLine('tidemark', 'recover', next.undo, '--dry-run', ...atWords(at));
      return [`it is being compensated by ${printable(next.undo)} (${printable(recover)}), and waits`];
    }
    case 'stopped':
    case 'needs-person': {
      const { workflow, tenant, question } = plan;
      const answers = question === null ? [] : answersOf(workflow, tenant, question, at);
      return [
        `it waits for a person: ${printable(question?.message || (question?.code ?? ''))}`,
        ...answers.flatMap(({ command, means }) => [`${INDENT}${command}`, `${INDENT}${INDENT}${means}`]),
      ];
    }
    case 'ruled':
      return [
        next.ruling === 'fail'
          ? 'the next holder ends it as failed, as a person decided'
          : next.ruling === 'cancel'
            ? 'it was cancelled: the next holder undoes what it did, where that is registered, and ends it'
            : 'the next holder has it compensated, as a person decided',
      ];
    case 'paused':
      return [`${printable(next.by)} paused it; nothing starts until it is resumed`];
    case 'will-park':
      return [`the next holder runs nothing and asks a person (${next.code})`];
    case 'blocked':
      return [`nothing can run yet: ${showCommand(plan.workflow, at)} says what its tasks wait for`];
    case 'runs': {
      const from = plan.lease === null ? 'the next holder' : 'its holder, or after its lease is revoked the next one,';
      const others = next.beside_max === null ? '' : ` and at most ${next.beside_max} other workflows on its worker`;
      const alone = next.alone ? ', and nothing beside it' : others;
      return [`${from} continues with task ${next.task} (${printable(next.step)})${alone}`];
    }
  }
}
