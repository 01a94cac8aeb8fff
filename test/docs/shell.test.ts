/** Every fence of shell commands is run by a test (```console), or is named here with why it is not as it stands there. */

import { expect, it } from 'vitest';
import { pages } from './markdown.ts';

const SHELL = new Set(['sh', 'bash', 'console', 'shell']);
/** Pages whose ```console is run, command by command. */
const RUN = new Map([
  ['docs/runbook.md', 'libs/operate/cli/src/runbook.test.ts'],
  ['docs/tutorial.md', 'libs/operate/cli/src/tutorial.test.ts'],
]);
/** How many fences, and why they are not run as they stand. */
const NOT_RUN: Readonly<Record<string, readonly [count: number, why: string]>> = {
  'README.md': [
    4,
    'the whole suite, or packages from a registry; `npm run packages` runs the quick start on packed ones',
  ],
  'docs/deploy.md': [5, 'a Docker engine, or a cluster; files are checked by test/deploy and deploy/check.sh'],
  'docs/encryption.md': [2, 'keys of a cloud; libs/adapters/keys-*/src/*.test.ts'],
  'docs/files.md': [1, 'names a folder of the reader; libs/operate/cli/src/files.test.ts'],
  'docs/guides/frameworks.md': [1, 'names a program of the reader; libs/operate/cli/src/crash-test.test.ts'],
  'docs/guides/langgraph.md': [1, 'minutes; with fewer kills libs/operate/cli/src/crash-test-doors.test.ts'],
  'docs/guides/openai-agents.md': [1, 'minutes; with fewer kills libs/operate/cli/src/crash-test-doors.test.ts'],
  'docs/repo-state.md': [1, 'names stages of the reader; libs/author/repo-state/src/*.test.ts'],
  'docs/retention.md': [1, 'a bucket; libs/operate/cli/src/archive.test.ts'],
  'docs/tutorial.md': [1, 'the clone itself, and what is installed into it'],
  'docs/upgrade.md': [2, 'a cluster; test/integration/upgrade.cluster.test.ts, `npm run upgrade`'],
  'examples/chat/README.md': [1, 'processes that stay; test/console/chat.test.ts runs them'],
  'examples/content-pipeline/README.md': [1, 'the example itself; libs/author/files/src/*.test.ts'],
  'examples/researcher/README.md': [2, 'a model key; without one test/e2e/researcher.test.ts'],
};

it('names what is not run, and why', () => {
  const found: Record<string, number> = {};
  for (const { file, fences } of pages()) {
    const shell = fences.filter(({ info: [lang = ''] }) => SHELL.has(lang) && !(RUN.has(file) && lang === 'console'));
    if (shell.length > 0) found[file] = shell.length;
  }
  const named = Object.fromEntries(Object.entries(NOT_RUN).map(([file, [count]]) => [file, count]));
  expect(found).toEqual(named);
});
