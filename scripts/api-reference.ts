/** Writes docs/api.md from the declarations of the routes; with --check it only says whether that would change anything. */

import { readFile, writeFile } from 'node:fs/promises';
import { documentOf, referenceOf } from '@tidemark/api';

const root = new URL('..', import.meta.url);
const file = new URL('docs/api.md', root);
const introduction = await readFile(new URL('libs/operate/api/docs/introduction.md', root), 'utf8');
const text = referenceOf(documentOf(), introduction);
if (!process.argv.includes('--check')) await writeFile(file, text);
else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
  process.stderr.write('docs/api.md is not what the routes say: run `node scripts/api-reference.ts`.\n');
  process.exitCode = 1;
}
