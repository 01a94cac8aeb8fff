/** Owns `tidemark admin doctor`: one line for each check, with a remedy where something is wrong. */

import { existsSync } from 'node:fs';
import { hasClusterConfig } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { checkCluster } from '../doctor/cluster.ts';
import { checkDefinitions } from '../doctor/definitions.ts';
import { checkEmbedded } from '../doctor/embedded.ts';
import type { Finding } from '../doctor/finding.ts';
import { exitCodeOfFindings } from '../doctor/health.ts';
import { checkNode } from '../doctor/machine.ts';
import { checkRows, checkUnfinished } from '../doctor/rows.ts';
import { noState } from '../failures.ts';
import { type AdminOptions, adminTarget } from '../place/admin-place.ts';
import { exists, type Folder } from '../place/folder.ts';
import type { Session } from '../session.ts';
import type { Colour, Terminal } from '../terminal.ts';
import { counted } from '../text/units.ts';
import { padEnd, printable, widthOf } from '../text/width.ts';

export interface DoctorOptions extends AdminOptions {
  /** Compares rows with the log. */
  readonly rows?: boolean | undefined;
  /** Modules whose definitions are checked. */
  readonly workflows?: readonly string[] | undefined;
}

const COLOURS: Readonly<Record<Finding['level'], Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' };

export async function doctor(session: Session, options: DoctorOptions): Promise<number> {
  const { terminal, env } = session;
  const isCluster = options.state === undefined && hasClusterConfig(env);
  // A check of its own reads the settings of a cluster, so they are not read here.
  const folder = isCluster ? undefined : (adminTarget(options, session) as Folder);
  // A folder that is named by mistake must not look well.
  if (folder !== undefined && options.state !== undefined && !existsSync(folder.folder)) throw noState(folder.shown);
  const { findings: advice, locate } = await checkDefinitions(options.workflows ?? [], session.cwd);
  const found = folder === undefined ? checkCluster(session, locate) : checkEmbedded(session, folder, locate);
  const findings = [checkNode(), ...advice, ...(await found)];
  if (exitCodeOfFindings(findings) === EXIT.ok) {
    const whole = adminTarget(options, session);
    findings.push(...(await checkUnfinished(whole)));
    const isThere = whole.kind === 'cluster' || exists(whole);
    if (options.rows === true && isThere) findings.push(...(await checkRows(whole, terminal)));
  }
  const exitCode = exitCodeOfFindings(findings);
  const status = worst(findings);
  terminal.answer({ status, exit_code: exitCode, checks: findings.map(findingJson) });
  terminal.lines(findingLines(findings, terminal));
  return exitCode;
}

function worst(findings: readonly Finding[]): Finding['level'] {
  if (findings.some(({ level }) => level === 'fail')) return 'fail';
  return findings.some(({ level }) => level === 'warn') ? 'warn' : 'ok';
}

const findingJson = ({ check, level, message, found, remedy }: Finding) => ({
  check,
  level,
  message,
  ...(found === undefined ? {} : { found: found.map(({ json }) => json) }),
  ...(remedy === undefined ? {} : { remedy }),
});

function findingLines(findings: readonly Finding[], { paint }: Terminal): readonly string[] {
  const columns = Math.max(...findings.map(({ check }) => widthOf(check)));
  const indent = ' '.repeat(columns + 8);
  const lines = findings.flatMap(({ check, level, message, found = [], remedy }) => [
    `${paint(COLOURS[level], padEnd(level, 4))}  ${padEnd(check, columns)}  ${printable(message)}`,
    ...found.map(({ line }) => `${indent}${printable(line)}`),
    ...(remedy === undefined ? [] : [`${indent}→ ${printable(remedy)}`]),
  ]);
  const many = (level: Finding['level']): number => findings.filter((each) => each.level === level).length;
  const verdict =
    worst(findings) === 'ok'
      ? paint('green', 'All is well.')
      : `${counted(many('fail'), 'failure')}, ${counted(many('warn'), 'warning')}.`;
  return [...lines, '', verdict];
}
