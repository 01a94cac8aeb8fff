/**
 * Owns `tidemark recover`: with `--dry-run` it predicts what the next holder would do and changes nothing; without, it takes a stuck lease
 * from its holder, so that another worker continues.
 */

import type { Answer } from '@tidemark/client';
import { InvalidError, TidemarkError } from '@tidemark/core';
import { continuesWith } from '../place/next-holder.ts';
import type { Place } from '../place/place.ts';
import type { Asked, ProgramKit } from '../program/program-kit.ts';
import { modules, places } from '../program/shared-options.ts';
import { type At, atWords, commandLine, showCommand } from '../text/shell.ts';
import { printable } from '../text/width.ts';

export function addRecover(kit: ProgramKit): void {
  const { command, asks } = kit;
  const what = 'take a stuck workflow from its holder, so that another resumes it; --dry-run only predicts';
  modules(kit, places(command('recover', what)))
    .argument('<id>', 'id of the run')
    .option('--dry-run', 'print step by step what the next holder would do, and change nothing')
    .option('--probe', 'with --dry-run: ask the probes of its effects now')
    .action(
      asks('read', (id, { dryRun = false, probe = false, ...at }) => {
        if (dryRun) return (asked) => reportPlan(asked, id, probe, at);
        if (!probe) return (asked) => takeLease(asked, id, at);
        throw new InvalidError(
          'probe-unfit',
          '--probe asks for a plan: use it with --dry-run. A worker asks its probes by itself.',
        );
      }),
    );
}

async function reportPlan(
  { client, terminal, report }: Asked,
  workflow: string,
  probes: boolean,
  at: At,
): Promise<undefined> {
  // Other commands must not wait for it.
  const { planLines } = await import('../views/plan.ts');
  const query = { probe: probes ? ('true' as const) : undefined };
  const plan = await client.ask('GET /v1/workflows/{workflow}/recovery', { params: { workflow }, query });
  const bold = (text: string): string => terminal.paint('bold', text);
  const head = `${bold(printable(workflow))}  ${plan.definition ?? ''}`.trimEnd();
  report(plan, head, ...planLines({ plan, at, nowMs: Date.now() }, bold));
}

type Workflow = Answer<'GET /v1/workflows/{workflow}'>;

async function takeLease({ terminal, place }: Asked, id: string, at: At): Promise<undefined> {
  const run = place.client.run(id);
  const row = await run.get({ content: false });
  const { workflow, status, reason, holder, epoch } = row;
  if (status === 'parked') {
    const show = showCommand(workflow, at);
    throw new TidemarkError(
      'workflow-parked',
      `${workflow} waits for a person (${reason}); ${show} says how to answer.`,
    );
  }
  if (holder !== null) {
    terminal.note(`${printable(workflow)} is held by ${printable(holder)} (epoch ${epoch}); its lease is revoked now.`);
  }
  const lease = await run.revoke();
  terminal.answer({ workflow, lease });
  if (lease !== null) terminal.line(`What that holder still does no longer counts. ${continuesWith(place)}`);
  else {
    const plan = commandLine('tidemark', 'recover', workflow, '--dry-run', ...atWords(at));
    terminal.line(`Nobody holds ${printable(workflow)}. ${continuesWords(row, place, at)}`);
    terminal.note(terminal.paintNote('dim', `${plan} shows what comes next.`));
  }
}

function continuesWords({ workflow, activity, status }: Workflow, place: Place, at: At): string {
  const show = showCommand(workflow, at);
  if (status === 'compensating') return `It is being compensated, and runs nothing meanwhile; ${show} shows more.`;
  return activity !== 'waiting' || place.isIdle
    ? continuesWith(place)
    : `None of its tasks can run yet; ${show} shows what they wait for.`;
}
