/** Owns what recall is worth, in figures: what workflows in sessions with and without it took, and how many completed. */

import type { Answer as AnswerOf } from '@tidemark/client';

type Workflow = AnswerOf<'GET /v1/workflows'>['workflows'][number];
type Counted = Pick<
  Workflow,
  'session' | 'tags' | 'status' | 'sequence_number' | 'tokens' | 'opened_at' | 'updated_at'
>;

const ENDED = ['completed', 'failed', 'compensated'];

/** Means of the ended workflows of each arm, by the tags with which they began, without children and forks, which are of no session; an arm without any is left out. */
export const byArm = (workflows: readonly Counted[]) =>
  (['injected', 'control'] as const).flatMap((arm) => {
    const of = workflows.filter(
      ({ tags, status, session }) =>
        session !== null && tags.includes(`tidemark:recall=${arm}`) && ENDED.includes(status),
    );
    if (of.length === 0) return [];
    const mean = (what: (workflow: Counted) => number) => of.reduce((sum, one) => sum + what(one), 0) / of.length;
    return [
      {
        arm,
        workflows: of.length,
        steps: mean(({ sequence_number }) => sequence_number),
        tokens: mean(({ tokens }) => tokens),
        ms: mean(({ opened_at, updated_at }) => Date.parse(updated_at) - Date.parse(opened_at)),
        completed: mean(({ status }) => (status === 'completed' ? 1 : 0)),
      },
    ];
  });
