// `node examples/content-pipeline/src/main.ts [FOLDER] [ID]`: prints a digest of the Markdown in FOLDER (default: docs). End it
// anywhere, also with kill -9, and run it again: it goes on after the last step that was done.

import path from 'node:path';
import { openEmbedded } from '@tidemark/host';
import { content } from './content.ts';

const [folder = 'docs', id = 'digest'] = process.argv.slice(2);
const host = await openEmbedded({ folder: '.tidemark' });
await host.startWorker({ definitions: [content], concurrency: 1 });
const run = await host.client.start(content, { folder: path.resolve(folder) }, { id });
console.log(await run.result());
await host.close();
