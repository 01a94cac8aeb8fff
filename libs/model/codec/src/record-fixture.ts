/**
 * Owns a record for this library's own tests. Its header contains characters that resemble the header's end. Must not be used outside
 * tests.
 */

import type { Envelope } from '@tidemark/core';
import { encodeRecord } from './record.ts';

export const envelope = {
  v: 1,
  id: 'e1',
  tenant: 'acme',
  workflow: 'w1',
  generation: 1,
  lamport: 3,
  epoch: 2,
  holder: 'worker',
  ordinal: 4,
  atMs: 1_700_000_000_000,
  type: 'StepFailed',
  control: { task: '0.0', attempt: 1, code: 'é "x",\\"payload\\":\\"json\\"}', retry: null },
} as unknown as Envelope;

export const recordOf = (payload: Uint8Array): Uint8Array => encodeRecord({ envelope, payload }, 10_000_000);
