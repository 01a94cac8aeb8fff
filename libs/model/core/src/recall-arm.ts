/**
 * Owns the arms by which recall is measured: in the sessions of the control arm nothing that memory recalls is put into bundles. The opening
 * records the arm as a tag, so lists, rows and metrics have it without opening content. Pure.
 */

/** Begins tags that the system itself sets; no caller may. */
export const OWN_TAG_PREFIX = 'tidemark:';

export type RecallArm = 'injected' | 'control';

const tagOf = (arm: RecallArm): string => `${OWN_TAG_PREFIX}recall=${arm}`;

const ARMS = ['injected', 'control'] as const;

/** What a child or a fork inherits of a workflow's tags: it is in the arm of what began it. */
export const recallTagsOf = (tags: readonly string[] = []): readonly string[] =>
  tags.filter((tag) => ARMS.some((arm) => tag === tagOf(arm)));

/** Undefined: its sessions are not compared. */
export const recallArmOf = (tags: readonly string[] = []): RecallArm | undefined =>
  ARMS.find((arm) => tags.includes(tagOf(arm)));

/** The tags with the arm of the session. `place`: the session's, from 0 to 1. An arm that is among them stays: it is that of an earlier run. */
export function withRecallArm(tags: readonly string[], place: number, controlShare: number): readonly string[] {
  if (recallArmOf(tags) !== undefined) return tags;
  return [...tags, tagOf(place < controlShare ? 'control' : 'injected')];
}
