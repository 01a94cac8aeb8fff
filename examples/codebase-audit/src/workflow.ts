// Owns the audit as a workflow: a page of paths, a task for each file on it, the next page once those are under way, and when
// every file is done the merge, summaries by a model if there is one, and the report. Checkpoints hold facts, never source.
// Every step gives the same for the same tree, so a run may be stopped and taken up anywhere.
//
// A finished file is never read again: its facts are the output of its committed task. Those under way when a process dies, at
// most PARALLEL_FILES, were not finished.

import { access } from 'node:fs/promises';
import { type Context, defineWorkflow, TidemarkError, task } from '@tidemark/sdk';
import { z } from 'zod';
import { discoverPage, pageFactsSchema } from './discover.ts';
import type { Known, Question } from './facts/analysis.ts';
import { analyse } from './facts/analysis-pool.ts';
import { type Finding, fileFactsSchema, SEVERITIES, type Severity } from './facts/facts.ts';
import { MAX_SUMMARY_ATTEMPTS, PARALLEL_FILES } from './limits.ts';
import { modelFromEnvironment } from './model-choice.ts';
import { askModel, type SummaryAnswer, summaryAnswerSchema } from './summary-effect.ts';
import { writeReport, writtenSchema } from './write-report.ts';

const count = z.number().int();
const bySeverity = z.object(
  Object.fromEntries(SEVERITIES.map((name) => [name, count])) as Record<Severity, typeof count>,
);
const none = Object.fromEntries(SEVERITIES.map((name) => [name, 0])) as Record<Severity, number>;

export const auditInputSchema = z.object({
  /** Absolute, without symbolic links; whoever runs the workflow sees the tree there. */
  root: z.string(),
  label: z.string(),
  /** Absolute folder of the report. */
  out: z.string(),
  /** Folders to leave out, relative to the root. */
  skipPaths: z.array(z.string()),
  /** Digest of the tree as it was when the run was started, and of the settings. */
  fingerprint: z.string(),
});
export type AuditInput = z.infer<typeof auditInputSchema>;

export const auditResultSchema = z.object({
  fingerprint: z.string(),
  ...{ files: count, unreadable: count, lines: count, modules: count },
  findings: bySeverity,
  ...{ cycles: count, deadExports: count },
  summaries: z.object({
    /** Null when there was no key. */
    model: z.string().nullable(),
    ...{ written: count, missing: count, unasked: count, tokens: count },
    /** Why the first missing one is missing. */
    reason: z.string().nullable(),
  }),
  report: z.array(writtenSchema),
});
export type AuditResult = z.infer<typeof auditResultSchema>;

const outputs = {
  discover: pageFactsSchema,
  parse: fileFactsSchema,
  summarise: z.object({ module: z.string(), answer: summaryAnswerSchema }),
};

export const codebaseAudit = defineWorkflow({
  name: 'codebase-audit',
  version: 1,
  parallel: PARALLEL_FILES,
  input: auditInputSchema,
  belief: z.object({ files: count, findings: bySeverity }),
  output: auditResultSchema,
  tasks: {
    discover: z.object({ after: z.string().nullable(), found: count }),
    parse: z.object({ path: z.string() }),
    merge: z.object({}),
    summarise: z.object({ module: z.string(), instructions: z.string(), prompt: z.string() }),
    report: z.object({ model: z.string().nullable(), unasked: count }),
  },
  outputs,
  flow: {
    discover: ['parse', 'discover', 'merge'],
    parse: [],
    merge: ['summarise', 'report'],
    summarise: [],
    report: [],
  },
  starts: ['discover'],
  effects: [askModel],
  begin: () => ({ belief: { files: 0, findings: none }, next: [task('discover', { after: null, found: 0 })] }),
  steps: {
    // The next page comes behind this page's files: pages are read as they are needed, and no frontier is longer than one.
    async discover({ input: { root, skipPaths } }, { after, found }) {
      const { files, facts, next } = await discoverPage(root, after, { found, skipPaths });
      const parses = files.map((path) => task('parse', { path }));
      const last = task('merge', {}, { after: 'all' });
      return {
        output: facts,
        next:
          next === null
            ? [...parses, last]
            : [...parses, task('discover', { after: next, found: found + files.length })],
        lastAction: `found ${found + files.length} files`,
      };
    },

    async parse({ input: { root } }, { path }) {
      const facts = await analyse('parse', { root, path });
      // A file may vanish; when all of the tree has, every file would seem to. This fails instead, and is tried again.
      if (facts.status === 'unreadable') await access(root);
      return {
        output: facts,
        belief: ({ files, findings }) => ({ files: files + 1, findings: added(findings, facts.findings) }),
        lastAction: `parsed ${path}`,
      };
    },

    async merge(ctx) {
      const { totals, questions, unasked } = await analyse('merge', await known(ctx));
      const model = modelFromEnvironment(process.env)?.name ?? null;
      const asked: readonly Question[] = model === null ? [] : questions;
      const report = task('report', { model, unasked: model === null ? 0 : unasked }, { after: 'all' });
      return { output: totals, next: [...asked.map((question) => task('summarise', question)), report] };
    },

    async summarise(ctx, { module, ...question }) {
      const answer = await summaryOf(ctx, question);
      return { output: { module, answer }, tokens: answer.ok ? answer.tokens : 0, lastAction: `summarised ${module}` };
    },

    async report(ctx, { model, unasked }) {
      const answers = await ctx.outputs('summarise');
      const summaries = answers.flatMap(({ module, answer }) =>
        answer.ok ? [{ module, text: answer.text, model: answer.model }] : [],
      );
      const { markdown, json, totals } = await analyse('report', { ...(await known(ctx)), summaries });
      const report = await writeReport(ctx.input.out, markdown, json);
      const { reason } = answers.map(({ answer }) => answer).find((answer) => !answer.ok) ?? { reason: null };
      const missing = answers.length - summaries.length;
      const tokens = answers.reduce((sum, { answer }) => sum + (answer.ok ? answer.tokens : 0), 0);
      return {
        done: {
          fingerprint: ctx.input.fingerprint,
          ...totals,
          summaries: { model, written: summaries.length, missing, unasked, tokens, reason },
          report,
        },
      };
    },
  },
});

type AuditContext = Context<AuditInput, unknown, typeof outputs, keyof typeof outputs>;

/** All facts, in order of discovery, whatever the order in which files were done. */
async function known(ctx: Pick<AuditContext, 'input' | 'outputs'>): Promise<Known> {
  return { label: ctx.input.label, pages: await ctx.outputs('discover'), facts: await ctx.outputs('parse') };
}

/** A model that can't be reached is asked again later; in the end the report does without it. */
async function summaryOf(
  ctx: Pick<AuditContext, 'effect' | 'attempt'>,
  question: { readonly instructions: string; readonly prompt: string },
): Promise<SummaryAnswer> {
  try {
    return await ctx.effect(askModel, question);
  } catch (error) {
    const failed = error instanceof TidemarkError && error.code === 'effect-failed';
    if (!failed || ctx.attempt < MAX_SUMMARY_ATTEMPTS) throw error;
    return { ok: false, reason: error.message };
  }
}

function added(totals: Readonly<Record<Severity, number>>, findings: readonly Finding[]): Record<Severity, number> {
  const sums = { ...totals };
  for (const { severity } of findings) sums[severity]++;
  return sums;
}
