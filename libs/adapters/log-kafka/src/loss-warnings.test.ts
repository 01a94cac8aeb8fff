/** Owns the tests of which topics are warned of: those where the loss of one broker loses acknowledged records. */

import { expect, test } from 'vitest';
import { warnOfLoss } from './loss-warnings.ts';

const warningsOf = (replicationFactor: number, minInSyncReplicas: number): readonly string[] => {
  const warned: string[] = [];
  warnOfLoss({ topic: 't.keys', holds: 'the keys', replicationFactor, minInSyncReplicas, lax: [] }, (code, message) =>
    warned.push(`${code}: ${message}`),
  );
  return warned;
};

test.each([
  [1, 1, /^log-one-replica: .*"t\.keys".*loses the keys\. Give it three/],
  [1, 2, /^log-one-replica: /],
  [3, 1, /^log-one-in-sync: .*"t\.keys" has min\.insync\.replicas=1.*Set it to 2/],
])('%i replicas of which %i must have it: warned of', (replicas, inSync, warning) => {
  expect(warningsOf(replicas, inSync)).toEqual([expect.stringMatching(warning)]);
});

test.each([
  [2, 2],
  [3, 2],
])('%i replicas of which %i must have it: nothing to say', (replicas, inSync) => {
  expect(warningsOf(replicas, inSync)).toEqual([]);
});
