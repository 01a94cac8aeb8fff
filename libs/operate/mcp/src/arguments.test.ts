/** What arguments may be: told as any wrong input is, with code, field and remedy, before a schema goes into them. */

import { readFile } from 'node:fs/promises';
import { JSON_BOUNDS, type Json, tenantId } from '@tidemark/core';
import { expect, it } from 'vitest';
import { BUNDLE_TOOLS } from './bundle-tools.ts';
import { MEMORY_TOOLS } from './memory-tools.ts';
import { REPO_STATE_TOOLS } from './repo-state-tools.ts';
import { SESSION_TOOLS } from './session-tools.ts';
import type { ToolContext } from './tool.ts';

const { depthMax, keyMaxChars, valuesMaxCount } = JSON_BOUNDS;
const tool = MEMORY_TOOLS.find(({ listed }) => listed.name === 'user_state_set')!;
const kept: unknown[] = [];
const faults: unknown[] = [];
const context: ToolContext = {
  tenant: tenantId('default'),
  user: 'ana',
  agent: () => 'test',
  folder: () => '.',
  allowedChecks: new Set(),
  withMemory: async (_, work) => {
    kept.push(work);
    return { key: 'k', value: 1 } as never;
  },
  onError: (_, error) => void faults.push(error),
};

const call = async (value: unknown) => {
  const { isError, _meta } = await tool.call({ key: 'k', value }, context, AbortSignal.timeout(60_000));
  return isError === true ? (_meta!['tidemark/error'] as { readonly code: string; readonly field: string }) : undefined;
};

const deep = (levels: number): Json => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as Json;

it.each([
  ['3,000 levels deep', deep(3_000), 'arguments-too-deep', 'value'],
  ['one level too deep', deep(depthMax), 'arguments-too-deep', 'value'],
  ['of too many values', Array(valuesMaxCount).fill(0), 'arguments-too-many', null],
  ['with a key too long', { ['k'.repeat(keyMaxChars + 1)]: 1 }, 'argument-name-too-long', 'value'],
  ['with a number that was rounded', { list: [0, JSON.parse('9007199254740993')] }, 'argument-inexact', 'value.list.1'],
  ['with a number beyond numbers', JSON.parse('1e999'), 'argument-inexact', 'value'],
])('%s are refused', async (_, value, code, field) => {
  expect(await call(value)).toMatchObject({ code, field, remedy: expect.any(String) });
  expect([kept, faults]).toEqual([[], []]);
});

it.each([[deep(depthMax - 1)], [{ ['k'.repeat(keyMaxChars)]: [Number.MAX_SAFE_INTEGER, 0.1, 1e-300, -0] }]])(
  'what fits is taken (control)',
  async (value) => {
    expect(await call(value)).toBeUndefined();
    expect(kept.splice(0)).toHaveLength(1);
  },
);

it('docs/mcp.md names every tool', async () => {
  const page = await readFile(new URL('../../../../docs/mcp.md', import.meta.url), 'utf8');
  const rows = page.slice(page.indexOf('## Tools'), page.indexOf('What an assistant sees')).split('\n');
  const table = rows.map((row) => row.split('|')[1]).join();
  const listed = [...REPO_STATE_TOOLS, ...SESSION_TOOLS, ...BUNDLE_TOOLS, ...MEMORY_TOOLS].map(
    ({ listed: { name } }) => name,
  );
  // `user_state_get`, `_set`: the later ones by their last word.
  const named = [...table.matchAll(/`(\w+)`/g)].map(([, name]) =>
    name!.startsWith('_') ? `user_state${name}` : name!,
  );
  expect(named.toSorted()).toEqual(listed.toSorted());
});
