/** Owns the test of what a rebuilt bundle says without being asked: what a model did not see. */

import { hash } from 'node:crypto';
import { assembleBundle, definePolicy, sequence } from '@tidemark/core';
import { tokenizerFor } from '@tidemark/tokenizer';
import { expect, it } from 'vitest';
import { bundleLines, type SeenCall } from './bundle.ts';

it('says of a result that was cut how much of it is there, and how much is missing', () => {
  const sha256 = (text: string): string => hash('sha256', text);
  const text = 'word '.repeat(20_000);
  const { manifest } = assembleBundle(
    {
      policy: definePolicy({ type: 'reply', budgetTokens: 1_000 }),
      fragments: [{ run: 0, sequence: sequence(1), index: 0, type: 'user_message', text, digest: sha256(text) }],
    },
    { tokenizer: tokenizerFor(), sha256 },
  );
  const call = {
    key: 'k',
    provider: 'test',
    model: 'm',
    identical: true,
    rebuilt: 'x',
    manifest,
  } as unknown as SeenCall;
  const lines = bundleLines(call, { items: true }, { paint: (_, shown) => shown, width: 120 });
  expect(lines.join('\n')).toMatch(
    /^1\.0 user_message was cut: [\d,]+ of 100,000 characters, about [\d,]+ tokens missing\.$/m,
  );
  expect(lines.join('\n')).toMatch(/^1\.0 +user_message +cut: [\d,]+ of 100,000 characters +9\d\d/m);
});
