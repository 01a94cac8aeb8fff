import type { WorkflowId } from '@tidemark/core';
import { PreflightReport } from '@tidemark/runtime';
import { expect, it } from 'vitest';
import { judgeAll, PREFLIGHT_IDS_PAGE_COUNT, PREFLIGHT_STREAMS_PAGE_COUNT } from './preflight.ts';

it('looks at every open workflow once, a page at a time', async () => {
  const all = Array.from({ length: 100_000 }, (_, n) => `w${String(n).padStart(6, '0')}` as WorkflowId);
  const loaded: WorkflowId[] = [];
  const report = new PreflightReport();
  await judgeAll(
    {
      openWorkflows: async (after, limit) => {
        expect(limit).toBe(PREFLIGHT_IDS_PAGE_COUNT);
        const at = after === null ? 0 : Number(after.slice(1)) + 1;
        return all.slice(at, at + limit);
      },
      loadStreams: async (ids) => {
        expect(ids.length).toBeLessThanOrEqual(PREFLIGHT_STREAMS_PAGE_COUNT);
        loaded.push(...ids);
        // Closed since the page of ids was read.
        return [];
      },
    },
    [],
    report,
  );
  expect(loaded).toEqual(all);
  expect(report.isSafe).toBe(true);
});
