/** Owns which ids and tags a caller may give a workflow. */

import { InvalidError, isContinuationId, isSystemDefinition, type WorkflowId, workflowId } from '@tidemark/core';
import { MEMORY_PREFIX } from '../kernel/index.ts';
import { VISIBLE } from './decision-checks.ts';

/** Begins the ids of bulk jobs. */
export const JOB_PREFIX = 'job:';

/** Longest id of a workflow, in characters. */
export const WORKFLOW_ID_MAX_CHARS = 200;

/** Most tags of one workflow, and most characters of each. */
export const TAGS_MAX_COUNT = 16;
export const TAG_MAX_CHARS = 100;

/** Returns each tag once, in the order given. Throws `InvalidError` (`tags-invalid`). */
export function checkedTags(tags: readonly string[]): readonly string[] {
  const isTag = (tag: string): boolean =>
    tag.trim() === tag && tag !== '' && tag.length <= TAG_MAX_CHARS && !/\p{Cc}|\p{Cs}/u.test(tag);
  if (tags.length > TAGS_MAX_COUNT || !tags.every(isTag)) {
    throw new InvalidError(
      'tags-invalid',
      `tags: at most ${TAGS_MAX_COUNT}, each of 1 to ${TAG_MAX_CHARS} characters without control characters or space around them.`,
    );
  }
  return [...new Set(tags)];
}

/**
 * Checks the id of a workflow of this definition: only the system's definitions may use ids of bulk jobs. Throws `InvalidError`
 * (`workflow-id-reserved`, `workflow-id-invalid`).
 */
export function checkedWorkflowId(id: string, definition = ''): WorkflowId {
  if (id.startsWith(JOB_PREFIX) && !isSystemDefinition(definition)) {
    throw new InvalidError(
      'workflow-id-reserved',
      `id: '${id.slice(0, 100)}' begins with '${JOB_PREFIX}', as ids of jobs do. Choose another.`,
    );
  }
  if (id.startsWith(MEMORY_PREFIX)) {
    throw new InvalidError(
      'workflow-id-reserved',
      `id: '${id.slice(0, 100)}' begins with '${MEMORY_PREFIX}', as streams of memories do. Choose another.`,
    );
  }
  if (/~\d+\.\d+$/.test(id)) {
    throw new InvalidError(
      'workflow-id-reserved',
      `id: '${id.slice(0, WORKFLOW_ID_MAX_CHARS)}' ends with '~' and a task, as ids of children do. Choose another.`,
    );
  }
  if (isContinuationId(id)) {
    throw new InvalidError(
      'workflow-id-reserved',
      `id: '${id.slice(0, WORKFLOW_ID_MAX_CHARS)}' ends with '~' and a number, as ids of continued workflows do. Choose another.`,
    );
  }
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
