/** Owns how every entry point shows the comparison of two workflows. Pure. */

import { plusSpend, spendJson } from '@tidemark/core';
import type { ComparedPoint, ComparedWorkflow, Comparison, Totals } from '@tidemark/runtime';
import { forkJson } from './workflow.ts';

export const comparisonJson = ({ workflows, isSameOutcome, firstDifference }: Comparison) => ({
  workflows: workflows.map(comparedJson),
  same_outcome: isSameOutcome,
  first_difference:
    firstDifference === null
      ? null
      : { sequence_number: firstDifference.at, checkpoints: firstDifference.points.map(pointJson) },
});

const comparedJson = (one: ComparedWorkflow) => ({
  workflow: one.workflow,
  definition: one.definition,
  definition_version: one.version,
  ...forkJson(one.fork),
  status: one.status,
  reason: one.reason,
  ...(one.output === undefined ? {} : { output: one.output }),
  ...totalsJson(totalsOf(one)),
  own: totalsJson(one.own),
  shared: totalsJson(one.shared),
  called_effects: one.effects.calledCount,
  replayed_effects: one.effects.replayedCount,
  took_ms: one.tookMs,
});

const totalsJson = ({ checkpointCount, ...spent }: Totals) => ({
  checkpoints: checkpointCount,
  ...spendJson(spent),
});

/** Shared history and its own together. */
export const totalsOf = ({ own, shared }: ComparedWorkflow): Totals => ({
  checkpointCount: own.checkpointCount + shared.checkpointCount,
  ...plusSpend(own, shared),
});

const pointJson = (point: ComparedPoint | null) =>
  point === null
    ? null
    : {
        workflow: point.workflow,
        sequence_number: point.sequence,
        step: point.step,
        belief: point.belief,
        output: point.output,
      };
