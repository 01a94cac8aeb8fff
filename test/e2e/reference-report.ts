/** Owns the report of a tree as it is without any workflow: the parts of the audit called in turn, in this process. */

import { jobs } from '@tidemark/example-codebase-audit/analysis';
import { discoverPage } from '@tidemark/example-codebase-audit/discover';

/** Markdown and JSON, as bytes. The tree fits on one page. */
export async function referenceReport(root: string, label: string): Promise<readonly Buffer[]> {
  const page = await discoverPage(root, null);
  const facts = [];
  for (const path of page.files) facts.push(await jobs.parse({ root, path }));
  const { markdown, json } = await jobs.report({ label, pages: [page.facts], facts, summaries: [] });
  return [Buffer.from(markdown), Buffer.from(json)];
}
