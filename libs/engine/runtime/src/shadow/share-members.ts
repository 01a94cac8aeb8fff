/**
 * Owns which workflows a share includes. Pure: every process decides alike for an id, and a larger share includes all workflows of a
 * smaller one.
 */

import type { WorkflowId } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { placeOf } from '../kernel/index.ts';
import type { ShadowShare } from './shadow-share.ts';

export const isInShare = (workflow: WorkflowId, share: ShadowShare, digest: Digest): boolean =>
  placeOf(workflow, digest) * 100 < share;
