/**
 * Owns `tidemark shadow status|report|promote`: how far the observation of an agent that runs elsewhere is, what the comparison
 * found, and the next share. Needs the log itself, so a folder that another process holds is not asked through it.
 */

import { ConfigError, isoTime } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import {
  type PromoteOptions,
  SHADOW_OBSERVE_MS,
  SHADOW_WORKFLOWS_MIN,
  type ShadowAccount,
  type Shadows,
} from '@tidemark/runtime';
import { noState } from '../failures.ts';
import { LIST_DEFAULT_COUNT } from '../limits.ts';
import type { Session } from '../session.ts';
import { HostDesk } from '../state/host-desk.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';
import type { Terminal } from '../terminal.ts';
import { counted, dateTime, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ShadowOptions {
  readonly state?: string | undefined;
}

export interface ShadowPromoteOptions extends ShadowOptions {
  readonly to: PromoteOptions['to'];
  readonly by: string;
  /** Milliseconds. */
  readonly observe: number;
  readonly runs: number;
}

/** How the roll-out stands, and how its runs compare in numbers. */
export function shadowStatus(session: Session, definition: string, options: ShadowOptions): Promise<number> {
  return withShadows(session, options, async (shadows) => {
    const account = await shadows.account(definition);
    session.terminal.document(accountJson(account, false));
    session.terminal.lines([...rolloutLines(account, Date.now()), ...countLines(account)]);
    return EXIT.ok;
  });
}

/** The comparison with its differences; exits with 1 when there is one. */
export function shadowReport(session: Session, definition: string, options: ShadowOptions): Promise<number> {
  return withShadows(session, options, async (shadows) => {
    const account = await shadows.account(definition);
    const { terminal } = session;
    terminal.document(accountJson(account, true));
    terminal.lines([...countLines(account), ...differenceLines(account, account.differences.length)]);
    return account.differenceCount === 0 ? EXIT.ok : EXIT.failed;
  });
}

/** Sets the share; exits with 1 when that is refused. */
export function shadowPromote(session: Session, definition: string, options: ShadowPromoteOptions): Promise<number> {
  return withShadows(session, options, async (shadows) => {
    const { to, by, observe, runs } = options;
    const { from, refusals, account } = await shadows.promote(definition, {
      to,
      by,
      observeMs: observe,
      workflowsMin: runs,
    });
    const isMade = refusals.length === 0;
    const { terminal } = session;
    terminal.document({ promoted: isMade, from, to, by, refusals, account: accountJson(account, true) });
    const name = printable(definition);
    if (isMade) terminal.line(`${name}: ${to} % of its workflows are observed from now on (before: ${from} %).`);
    else refused(terminal, `${name} stays at ${from} %:`, account, refusals);
    return isMade ? EXIT.ok : EXIT.failed;
  });
}

function refused(
  terminal: Terminal,
  title: string,
  account: ShadowAccount,
  refusals: readonly { readonly message: string }[],
): void {
  terminal.line(title);
  terminal.lines(refusals.map(({ message }) => `  - ${message}`));
  terminal.lines(differenceLines(account, LIST_DEFAULT_COUNT));
}

async function withShadows(
  { env, cwd }: Session,
  { state }: ShadowOptions,
  perform: (shadows: Shadows) => Promise<number>,
): Promise<number> {
  const target = targetOf(state, env, cwd);
  if (!exists(target)) throw noState(target.kind === 'embedded' ? target.shown : '');
  const desk = await openToRead(target);
  try {
    if (desk instanceof HostDesk) return await perform(desk.host.client.shadows);
    const holder = desk.place.kind === 'embedded' ? desk.place.holder : null;
    throw new ConfigError(
      'log-locked',
      `The state is held by tidemark ${holder?.command} (process ${holder?.pid}), and a comparison reads the log itself. End that process first.`,
    );
  } finally {
    await desk.close();
  }
}

function rolloutLines({ definition, rollout }: ShadowAccount, nowMs: number): readonly string[] {
  const name = printable(definition);
  if (rollout === undefined)
    return [`${name} is not observed: tidemark shadow promote ${name} --to 1 --by NAME begins.`];
  const { share, sinceMs, by, observeMs, workflowsMin } = rollout;
  const asked =
    observeMs === null ? '' : `, after ${duration(observeMs)} of observation and ${counted(workflowsMin ?? 0, 'run')}`;
  return [
    `${name}: ${share} % of its workflows are observed`,
    `  since ${dateTime(sinceMs)} (${duration(nowMs - sinceMs)}), set by ${printable(by)}${asked}`,
  ];
}

const countLines = (account: ShadowAccount): readonly string[] => [
  `  ${counted(account.stepCount, 'step')} compared`,
  `  ${counted(account.agreedCount, 'run')} ended and agree, ${account.differingCount} differ, ${account.openCount} have not ended, ${account.incompleteCount} lost reports`,
  ...(account.isCut ? ['  older runs were not looked at'] : []),
];

function differenceLines({ differences, differenceCount }: ShadowAccount, max: number): readonly string[] {
  const lines = differences
    .slice(0, max)
    .map(
      ({ workflow, sequence, path, what }) =>
        `  ${printable(workflow)} at ${sequence}: ${printable(path)} ${printable(what)}`,
    );
  const left = differenceCount - lines.length;
  return left > 0 ? [...lines, `  … and ${counted(left, 'more difference')}`] : lines;
}

function accountJson(account: ShadowAccount, isFull: boolean): unknown {
  const { rollout } = account;
  return {
    definition: account.definition,
    share: rollout?.share ?? 0,
    since: rollout === undefined ? null : isoTime(rollout.sinceMs),
    by: rollout?.by ?? null,
    observe_ms: rollout?.observeMs ?? null,
    runs_min: rollout?.workflowsMin ?? null,
    steps: account.stepCount,
    agreed: account.agreedCount,
    differing: account.differingCount,
    open: account.openCount,
    incomplete: account.incompleteCount,
    difference_count: account.differenceCount,
    cut: account.isCut,
    ...(isFull ? { differences: account.differences } : {}),
  };
}

export const OBSERVE_DEFAULT_MS = SHADOW_OBSERVE_MS;
export const RUNS_DEFAULT_COUNT = SHADOW_WORKFLOWS_MIN;
