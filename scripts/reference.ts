/**
 * Writes the pages of docs/ that are made from declarations: docs/sdk.md, docs/metrics.md, docs/events.md and
 * docs/configuration.md. `--check` only says which of them would change.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { configurationPage } from './reference/configuration.ts';
import { eventsPage } from './reference/events.ts';
import { metricsPage } from './reference/metrics.ts';
import { sdkPage } from './reference/sdk.ts';

const ROOT = new URL('..', import.meta.url);

/** Each page with its text, as the declarations have it now. */
export const referencePages = async (): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ['docs/sdk.md', await sdkPage(ROOT)],
    ['docs/metrics.md', metricsPage()],
    ['docs/events.md', await eventsPage(ROOT)],
    ['docs/configuration.md', await configurationPage(ROOT)],
  ]);

/** Those that are not what the declarations say. */
export async function stalePages(): Promise<readonly string[]> {
  const stale: string[] = [];
  for (const [file, text] of await referencePages()) {
    if ((await readFile(new URL(file, ROOT), 'utf8').catch(() => '')) !== text) stale.push(file);
  }
  return stale;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (process.argv.includes('--check')) {
    const stale = await stalePages();
    if (stale.length > 0) {
      process.stderr.write(`Not what the declarations say: ${stale.join(', ')}. Run \`node scripts/reference.ts\`.\n`);
      process.exitCode = 1;
    }
  } else for (const [file, text] of await referencePages()) await writeFile(new URL(file, ROOT), text);
}
