/** Owns which ids and tags a caller may give a workflow. */

import {
  type DerivedForm,
  derivedFormOf,
  InvalidError,
  invariant,
  OWN_TAG_PREFIX,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import { VISIBLE } from './decision-checks.ts';

/** Longest id of a workflow, in characters. */
export const WORKFLOW_ID_MAX_CHARS = 200;

/** Most tags of one workflow, and most characters of each. */
export const TAGS_MAX_COUNT = 16;
export const TAG_MAX_CHARS = 100;

/** Returns each tag once, in the order given. Throws `InvalidError` (`tags-invalid`). */
export function checkedTags(tags: readonly string[]): readonly string[] {
  const isTag = (tag: string): boolean =>
    tag.trim() === tag &&
    tag !== '' &&
    tag.length <= TAG_MAX_CHARS &&
    !tag.startsWith(OWN_TAG_PREFIX) &&
    !/\p{Cc}|\p{Cs}/u.test(tag);
  if (tags.length > TAGS_MAX_COUNT || !tags.every(isTag)) {
    throw new InvalidError(
      'tags-invalid',
      `tags: at most ${TAGS_MAX_COUNT}, each of 1 to ${TAG_MAX_CHARS} characters without control characters or space around them, not beginning with '${OWN_TAG_PREFIX}'.`,
    );
  }
  return [...new Set(tags)];
}

const OWNERS: Readonly<Record<DerivedForm, string>> = {
  undo: "undos ('~undo' at the end)",
  child: "children ('~' and a task at the end)",
  continuation: "runs that continue another ('~' and a number at the end)",
  slot: "runs of schedules ('@' and a time at the end); tidemark schedule fire starts one now",
  fork: "forks without an id of their own ('~fork-')",
  session: "workflows with which sessions resume ('resumed:' at the beginning)",
  job: "bulk jobs ('job:' at the beginning)",
  memory: "streams of memories ('~memory:' at the beginning)",
  other: "the system ('~')",
};

/**
 * Checks an id that a caller chose. It is refused by its form alone, whether or not any workflow has it, so nobody learns that from the
 * answer. Throws `InvalidError` (`workflow-id-reserved`, `workflow-id-invalid`).
 */
export function checkedWorkflowId(id: string): WorkflowId {
  const form = derivedFormOf(id);
  if (form === undefined) return storableId(id);
  throw new InvalidError(
    'workflow-id-reserved',
    `id: '${id.slice(0, WORKFLOW_ID_MAX_CHARS)}' has the reserved form of ids of ${OWNERS[form]}. Choose an id without '~' that doesn't begin with 'job:' or 'resumed:' and doesn't end with '@' and a time.`,
    { form },
  );
}

/** Checks an id that the system derived. Throws `InvalidError` (`workflow-id-invalid`: what it derives from is too long). */
export function checkedDerivedId(id: WorkflowId): WorkflowId {
  invariant(derivedFormOf(id) !== undefined, `${id} has no form that only the system gives`);
  return storableId(id);
}

function storableId(id: string): WorkflowId {
  if (!VISIBLE.test(id) || id.length > WORKFLOW_ID_MAX_CHARS || /\p{Cc}/u.test(id)) {
    throw new InvalidError(
      'workflow-id-invalid',
      `id: give 1 to ${WORKFLOW_ID_MAX_CHARS} characters, one of them visible, without control characters.`,
    );
  }
  // A browser resolves these as steps within the path, so nobody could reach the workflow's address.
  if (id === '.' || id === '..') {
    throw new InvalidError('workflow-id-invalid', `id: '${id}' can't be a part of an address. Choose another.`);
  }
  return workflowId(id);
}
