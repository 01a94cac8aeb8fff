/** What people are told of a process that stands still is what it does. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { LIVE_SILENCE_MAX_MS, READY_SILENCE_MAX_MS } from './health-endpoint.ts';

test.each(['docs/runbook.md', 'docs/deploy.md', 'docs/decisions/0038-health.md'])(
  '%s names both times',
  async (file) => {
    const text = await readFile(path.resolve(import.meta.dirname, '../../../..', file), 'utf8');
    const reported = text.split('\n').filter((line) => /event loop|computes without a pause|`\/livez`/.test(line));
    for (const limitMs of [READY_SILENCE_MAX_MS, LIVE_SILENCE_MAX_MS])
      expect(reported.join('\n')).toMatch(new RegExp(`\\b${limitMs / 1_000} s\\b`));
  },
);
