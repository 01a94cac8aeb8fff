/**
 * Owns the tools for state in a repository: init, checkpoint, resume, show, update, complete, migrate. They need no server of Tidemark's.
 * Must not decide anything about a state: its library does.
 */

import { ConfigError, type Json } from '@tidemark/core';
import {
  checkDigest,
  listStates,
  openRepoState,
  type RepoState,
  type RepoStateFile,
  type RepoStateOptions,
  STAGE_STATUSES,
  STAGES_MAX,
  type StagePlan,
} from '@tidemark/repo-state';
import { z } from 'zod';
import { NAME_MAX_CHARS, TEXT_MAX_CHARS } from './limits.ts';
import { ADDS, defineTool, READS, REPLACES, RUNS, type Tool, type ToolContext } from './tool.ts';

const name = z.string().min(1).max(NAME_MAX_CHARS).describe('Name of the workflow; its file is <name>-state.json');
const agent = z.string().min(1).max(NAME_MAX_CHARS).optional().describe('Who does it; default: the client');
const note = z.string().min(1).max(TEXT_MAX_CHARS).optional().describe('Something that the next agent needs to know');
const check = z
  .string()
  .min(1)
  .max(TEXT_MAX_CHARS)
  .describe('A command that must pass before the stage counts as done');
const stageId = z.string().min(1).max(NAME_MAX_CHARS);
const plan = z
  .array(z.union([stageId, z.strictObject({ id: stageId, check: check.optional() })]))
  .describe('Stages in their order');
const version = z.int().min(1).max(999_999_999);
const jsonMap = z.record(z.string(), z.json());

const state = z.looseObject({
  workflow: z.string(),
  version: z.number(),
  updated_at: z.string(),
  current_stage: z.string().nullable(),
  stages: z.array(z.looseObject({ id: z.string(), status: z.enum(STAGE_STATUSES) })),
  artifacts: z.record(z.string(), z.unknown()),
  notes: z.array(z.looseObject({ text: z.string() })),
});
const warnings = z.array(z.string());
const kept = { file: z.string(), state, warnings };

const open = (context: ToolContext, of: string, more: Partial<RepoStateOptions> = {}): RepoStateFile => {
  const onCheck = (_stage: string, command: string, folder: string): void => refuseCheck(context, command, folder);
  return openRepoState({
    ...{ folder: context.folder(), name: of, now: () => Date.now(), agent: context.agent(), onCheck },
    ...more,
  });
};

/**
 * Otherwise a model, or a state that came with a repository, could run any command through this server. A check that is only set is
 * refused as well: somebody's shell would run it.
 */
function refuseCheck({ allowedChecks }: ToolContext, command: string, folder: string): void {
  const digest = checkDigest(command, folder);
  if (allowedChecks.has(digest)) return;
  throw new ConfigError(
    'check-not-approved',
    `The check ${JSON.stringify(command)} is a command, and nobody has allowed this server to run it in ${folder}. A person who has read it there (tidemark state show) starts the server with --allow-check ${digest}, or takes the stage with tidemark state checkpoint in a shell.`,
    { field: 'check' },
  );
}

function refuseChecks(context: ToolContext, stages: readonly (string | StagePlan)[] = []): void {
  for (const stage of stages) {
    if (typeof stage !== 'string' && stage.check !== undefined) refuseGiven(context, stage.check);
  }
}

const refuseGiven = (context: ToolContext, command: string): void =>
  refuseCheck(context, command, context.folder() ?? process.cwd());

const standing = ({ workflow, stages, current_stage }: RepoState): string => {
  const done = stages.filter(({ status }) => status === 'done').length;
  const next = current_stage === null ? 'nothing is left' : `next is ${current_stage}`;
  return `${workflow}: ${done} of ${stages.length} stages done; ${next}.`;
};

const withWarnings = (text: string, reported: readonly string[]): string =>
  [text, ...reported.map((warning) => `Warning: ${warning}`)].join('\n');

const init = defineTool({
  name: 'state_init',
  title: 'Begin a workflow in this repository',
  description:
    'Begins the state of a workflow in the repository, with its stages in order. Fails when there is one already: resume that.',
  input: z.strictObject({
    name,
    stages: plan.min(1),
    version: version.optional(),
    shared: z.boolean().optional().describe('Let git see the state, so that it can be committed; default: ignored'),
    note,
    agent,
  }),
  output: z.object(kept),
  hints: ADDS,
  async run({ name: of, ...given }, context) {
    refuseChecks(context, given.stages);
    const result = await open(context, of).init(given);
    return { data: { ...result }, text: withWarnings(standing(result.state), result.warnings) };
  },
});

const checkpoint = defineTool({
  name: 'state_checkpoint',
  title: 'Say how far a workflow is',
  description:
    'Records how stages ended, and keeps evidence, artifacts and notes. Call it when a stage begins and when it ends. A stage with a check becomes done only when the check passes; `passed` says whether it did. A check is a command, and runs only where a person has allowed this server that one.',
  input: z.strictObject({
    name,
    stages: z.array(stageId).optional(),
    status: z.enum(STAGE_STATUSES).optional().describe('What these stages are now'),
    evidence: jsonMap.optional().describe('What shows it'),
    artifacts: jsonMap.optional().describe('What was made, such as paths, by name; null removes one'),
    check: check.optional(),
    note,
    agent,
    every: z
      .int()
      .min(1)
      .max(STAGES_MAX)
      .optional()
      .describe('Write the file after this many stages became done; until then they wait beside it. Default: each'),
    add: z.boolean().optional().describe('Add stages that the state does not have'),
    take: z.boolean().optional().describe('Take over a stage that another agent has in progress'),
  }),
  output: z.object({
    ...kept,
    passed: z.boolean(),
    saved: z.boolean(),
    checks: z.array(z.looseObject({ stage: z.string() })),
  }),
  hints: RUNS,
  async run({ name: of, evidence, artifacts, every: checkpointEvery, ...given }, context, signal) {
    if (given.check !== undefined) refuseGiven(context, given.check);
    const file = open(context, of, { signal, checkpointEvery });
    const change = { ...given, evidence: asRecord(evidence), artifacts: asRecord(artifacts) };
    const { state: now, checks, passed, saved, warnings: reported, file: where } = await file.checkpoint(change);
    const failures = checks.filter((ran) => !ran.evidence.passed);
    const lines = failures.map(({ stage, evidence: ran }) =>
      [`The check of ${stage} failed (${ran.ended_by ?? ran.exit_code}): ${ran.command}`, ...ran.output].join('\n'),
    );
    return {
      data: { file: where, state: now, passed, saved, checks, warnings: reported },
      text: withWarnings([...lines, standing(now)].join('\n'), reported),
    };
  },
});

const asRecord = (value: unknown): Readonly<Record<string, Json>> | undefined =>
  value as Readonly<Record<string, Json>> | undefined;

const resume = defineTool({
  name: 'state_resume',
  title: 'Find out where to resume',
  description:
    'Returns the stage from which to resume, with all notes, artifacts and evidence so far. Repairs damage and conflicts. Call it first, before any work. With `stages` it begins the workflow where there is none.',
  input: z.strictObject({
    name,
    stages: plan.optional(),
    choose: z.int().min(1).max(1_000).optional().describe('Which of equally new states counts, where it asked'),
    version: version.optional().describe('The version that is expected; another one is refused'),
  }),
  output: z.looseObject({ fresh: z.boolean(), line: z.string(), file: z.string(), state: state.optional(), warnings }),
  hints: { ...ADDS, idempotentHint: true },
  async run({ name: of, stages, choose, version: expected }, context) {
    refuseChecks(context, stages);
    const otherwise = stages === undefined ? undefined : { stages };
    const report = await open(context, of, { version: expected }).resume({ choose, otherwise });
    const notes = (report.state?.notes ?? []).slice(-3);
    const lines = notes.map(({ agent: by, text }) => `Note${by === undefined ? '' : ` of ${by}`}: ${text}`);
    const conflicts = report.conflicts.map((one) => `A conflict was resolved: ${one.kept} was kept (${one.because}).`);
    const text = [`${of}: ${report.line}`, ...lines, ...conflicts].join('\n');
    return { data: { ...report }, text: withWarnings(text, report.warnings) };
  },
});

const show = defineTool({
  name: 'state_show',
  title: 'Show a workflow of this repository',
  description: 'Shows the state of a workflow, or without a name the names of all there are. Changes nothing.',
  input: z.strictObject({ name: name.optional() }),
  output: z.object({
    names: z.array(z.string()).optional(),
    file: z.string().optional(),
    state: state.nullable().optional(),
    warnings,
  }),
  hints: READS,
  async run({ name: of }, context) {
    if (of === undefined) {
      const names = await listStates(context.folder());
      const text = names.length === 0 ? 'There are no states here.' : names.join('\n');
      return { data: { names, warnings: [] }, text };
    }
    const { state: now, file, warnings: reported } = await open(context, of).show();
    const text = now === undefined ? `There is no state of ${of}.` : standing(now);
    return { data: { file, state: now ?? null, warnings: reported }, text: withWarnings(text, reported) };
  },
});

const update = defineTool({
  name: 'state_update',
  title: 'Change the blackboard of a workflow',
  description:
    'Joins a JSON merge patch (RFC 7396) to a state that several agents share: fields of your own, artifacts, notes; null removes a field. Nothing that others wrote meanwhile is lost. Stages are changed by state_checkpoint.',
  input: z.strictObject({ name, patch: jsonMap.describe('What to set, by field') }),
  output: z.object(kept),
  hints: { ...REPLACES, idempotentHint: true },
  async run({ name: of, patch }, context) {
    const result = await open(context, of).patch(asRecord(patch)!);
    return { data: { ...result }, text: withWarnings(standing(result.state), result.warnings) };
  },
});

const complete = defineTool({
  name: 'state_complete',
  title: 'Archive a finished workflow',
  description: 'Puts a finished state into the archive. Refused while stages are open, unless `open` is true.',
  input: z.strictObject({ name, open: z.boolean().optional().describe('Also when stages are not done') }),
  output: z.object({ ...kept, archived: z.string() }),
  hints: { ...REPLACES, idempotentHint: false },
  async run({ name: of, open: alsoOpen }, context) {
    const result = await open(context, of).complete({ open: alsoOpen });
    return { data: { ...result }, text: withWarnings(`${of} is archived in ${result.archived}.`, result.warnings) };
  },
});

const migrate = defineTool({
  name: 'state_migrate',
  title: 'Bring a workflow to a newer version',
  description: 'Brings a state to a newer version of its workflow: stages, and new ids for them. The old file is kept.',
  input: z.strictObject({
    name,
    to: version,
    stages: plan.optional(),
    rename: z.record(stageId, stageId).optional().describe('New ids of stages, by their old ones'),
  }),
  output: z.object({ ...kept, from: z.number(), backup: z.string() }),
  hints: REPLACES,
  async run({ name: of, ...given }, context) {
    refuseChecks(context, given.stages);
    const result = await open(context, of).migrate(given);
    const text = `${of} is of version ${given.to} now; the file of version ${result.from} is ${result.backup}.`;
    return { data: { ...result }, text: withWarnings(text, result.warnings) };
  },
});

export const REPO_STATE_TOOLS: readonly Tool[] = [init, checkpoint, resume, show, update, complete, migrate];
