// Owns the audit's heavy work as plain jobs: message in, message out, the same answer wherever it runs. Parsing and merging take
// up to seconds of processor time, so they run in threads (analysis-thread.ts): whoever waits for them stays responsive.

import { joinPages, type PageFacts } from '../discover.ts';
import { MAX_PROMPTS_BYTES, MAX_SUMMARIES } from '../limits.ts';
import { type ModulePrompt, modulePrompt } from '../module-prompt.ts';
import { compareBy } from '../order.ts';
import { folderOf } from '../paths.ts';
import { jsonReport, type ModuleText, markdownReport } from '../report.ts';
import type { FileFacts } from './facts.ts';
import { fitFacts } from './fit-facts.ts';
import { type Audit, merge } from './merge.ts';
import { readFacts } from './parse-file.ts';

/** All that is known of a tree once its files are parsed. */
export type Known = { label: string; pages: readonly PageFacts[]; facts: readonly FileFacts[] };

/** What people want to know first. */
export type Totals = Pick<Audit['totals'], 'files' | 'lines' | 'modules' | 'findings'> & {
  cycles: number;
  deadExports: number;
  unreadable: number;
};
export type Question = ModulePrompt & { module: string };

export type Jobs = {
  parse: { input: { root: string; path: string }; output: FileFacts };
  /** `questions`: modules to ask a model about, the largest first; `unasked`: how many more there are. */
  merge: { input: Known; output: { totals: Totals; questions: Question[]; unasked: number } };
  report: {
    input: Known & { summaries: readonly ModuleText[] };
    output: { markdown: string; json: string; totals: Totals };
  };
};
export type JobName = keyof Jobs;

export const jobs: { [N in JobName]: (input: Jobs[N]['input']) => Jobs[N]['output'] | Promise<Jobs[N]['output']> } = {
  parse: async ({ root, path }) => fitFacts(await readFacts(root, path)),
  merge: (known) => {
    const audit = auditOf(known);
    const questions = questionsOf(audit, known.facts);
    return { totals: totalsOf(audit), questions, unasked: audit.modules.length - questions.length };
  },
  report: ({ summaries, ...known }) => {
    const audit = auditOf(known);
    return { markdown: markdownReport(audit, summaries), json: jsonReport(audit, summaries), totals: totalsOf(audit) };
  },
};

function auditOf({ label, pages, facts }: Known): Audit {
  return merge(joinPages(label, pages), facts);
}

function totalsOf({ totals, cycles, deadExports, incomplete }: Audit): Totals {
  const { files, lines, modules, findings } = totals;
  return {
    ...{ files, lines, modules, findings },
    cycles: cycles.length,
    deadExports: deadExports.length,
    unreadable: incomplete.unreadable.length,
  };
}

function questionsOf(audit: Audit, facts: readonly FileFacts[]): Question[] {
  const byModule = Map.groupBy(facts, ({ path }) => folderOf(path));
  const largestFirst = compareBy<Audit['modules'][number]>(
    (module) => -module.lines,
    (module) => module.path,
  );
  const questions: Question[] = [];
  let room = MAX_PROMPTS_BYTES;
  for (const module of audit.modules.toSorted(largestFirst).slice(0, MAX_SUMMARIES)) {
    const question = { module: module.path, ...modulePrompt(module, byModule.get(module.path) ?? []) };
    room -= Buffer.byteLength(JSON.stringify(question));
    if (room < 0) break;
    questions.push(question);
  }
  return questions;
}
