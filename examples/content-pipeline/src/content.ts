// The pipeline: the five steps, in order. A digest without entries is no digest, so the last step has a gate.

import { pipeline } from '@tidemark/sdk';
import { collect, draft, filter, format, rewrite } from './steps.ts';

const hasEntries = {
  name: 'has entries',
  check: (digest: string) => ({
    passed: digest.includes('\n## '),
    evidence: { entries: digest.split('\n## ').length - 1 },
  }),
};

export const content = pipeline('content', {
  collect,
  filter,
  draft,
  rewrite,
  format: { run: format, gate: hasEntries },
});
