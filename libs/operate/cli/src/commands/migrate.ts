/** Owns `tidemark admin migrate`: it brings the cluster's tables to this version, before its processes start or when the last older one is gone. */

import { setTimeout } from 'node:timers/promises';
import { UnavailableError } from '@tidemark/core';
import { type MigrationReport, migrateCluster, type NamedMigration } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { MIGRATE_AGAIN_MS } from '../limits.ts';
import { type AdminOptions, adminTarget, recorded, writeDown } from '../place/admin-place.ts';
import type { Session } from '../session.ts';
import type { Terminal } from '../terminal.ts';

export interface MigrateCommandOptions extends AdminOptions {
  /** Milliseconds. */
  readonly wait?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly contract?: boolean | undefined;
}

const MEANING: Readonly<Record<NamedMigration['phase'], string>> = {
  settled: 'older versions can’t work with it',
  expand: 'older versions keep working beside it',
  contract: 'removes what only older versions need',
};

export async function migrate(session: Session, options: MigrateCommandOptions): Promise<number> {
  const { terminal } = session;
  const target = adminTarget(options, session);
  if (target.kind === 'embedded') {
    terminal.answer({ applied: [], deferred: [], unknown: [], dry_run: options.dryRun === true });
    terminal.line(`State in ${target.shown} is migrated when it is opened: there is nothing to do.`);
    return EXIT.ok;
  }
  const isDryRun = options.dryRun === true;
  // Attempts that failed may have applied some.
  let newest: string | undefined;
  const onApplied = (name: string): void => {
    newest = name;
  };
  const report = await recorded(
    () =>
      patiently(terminal, options.wait ?? 0, () =>
        migrateCluster(target.config, { isDryRun, mayContract: options.contract === true, onApplied }),
      ),
    () => (newest === undefined ? undefined : { action: 'migrate', target: newest }),
    (changed, code) => writeDown(session, target, changed, code),
  );
  reportMigration(terminal, report, isDryRun);
  return EXIT.ok;
}

/** Retries while a server is absent, a table locked or an older process there, for the given time. */
async function patiently<T>(terminal: Terminal, waitMs: number, attempt: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + waitMs;
  let reported = '';
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof UnavailableError) || performance.now() + MIGRATE_AGAIN_MS > untilMs) throw error;
      if (error.message !== reported) terminal.note(`${error.message}. Waiting.`);
      reported = error.message;
    }
    await setTimeout(MIGRATE_AGAIN_MS);
  }
}

function reportMigration(terminal: Terminal, { applied, deferred, unknown }: MigrationReport, isDryRun: boolean): void {
  terminal.answer({ applied, deferred, unknown, dry_run: isDryRun });
  for (const { name, phase } of applied) {
    terminal.line(`${isDryRun ? 'would apply' : 'applied'}  ${name}  (${MEANING[phase]})`);
  }
  for (const { name } of deferred) terminal.line(`deferred     ${name}  (for tidemark admin migrate --contract)`);
  for (const name of unknown) terminal.line(`newer        ${name}  (this version works beside it)`);
  if (applied.length === 0) {
    terminal.line(isDryRun ? 'Nothing would be applied.' : 'Nothing to apply: the tables are of this version.');
  }
}
