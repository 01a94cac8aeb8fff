/**
 * Writes the pages of docs/ that follow from declarations: of the SDK, the API, metrics, events and settings. They are not committed: `npm
 * run docs` writes them for the site.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { documentOf } from '@tidemark/api';
import { referenceOf } from './reference/api.ts';
import { configurationPage } from './reference/configuration.ts';
import { eventsPage } from './reference/events.ts';
import { metricsPage } from './reference/metrics.ts';
import { sdkPage } from './reference/sdk.ts';

const ROOT = new URL('..', import.meta.url);

/** Each page with its text, from the current declarations. */
export const referencePages = async (): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ['docs/sdk.md', await sdkPage(ROOT)],
    ['docs/api.md', referenceOf(documentOf(), await introduction())],
    ['docs/metrics.md', metricsPage()],
    ['docs/events.md', await eventsPage(ROOT)],
    ['docs/configuration.md', await configurationPage(ROOT)],
  ]);

const introduction = (): Promise<string> => readFile(new URL('libs/operate/api/docs/introduction.md', ROOT), 'utf8');

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [file, text] of await referencePages()) await writeFile(new URL(file, ROOT), text);
}
