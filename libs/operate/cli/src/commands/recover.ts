/**
 * Owns `tidemark recover`: with `--dry-run` it predicts what the next holder would do and changes nothing; without, it takes a stuck lease
 * from its holder, so that another worker continues.
 */

import type { Answer, Client } from '@tidemark/client';
import { InvalidError, TidemarkError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { readDefinitions } from '../definitions.ts';
import { continuesWith } from '../place/next-holder.ts';
import { atPlace, type Place, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { atWords, commandLine, showCommand } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { planLines } from '../views/plan.ts';

export interface RecoverOptions extends PlaceOptions {
  readonly dryRun?: boolean | undefined;
  readonly probe?: boolean | undefined;
  readonly workflows?: readonly string[] | undefined;
}

export async function recover(session: Session, id: string, options: RecoverOptions): Promise<number> {
  const { dryRun = false, probe = false, workflows = [] } = options;
  if (probe && !dryRun) {
    throw new InvalidError(
      'probe-unfit',
      '--probe asks for a plan: use it with --dry-run. A worker asks its probes by itself.',
    );
  }
  const definitions = async () => (workflows.length === 0 ? [] : readDefinitions(workflows, session.cwd));
  return atPlace(session, { ...options, how: 'read', definitions }, (place) =>
    dryRun ? reportPlan(session, place.client, id, options) : takeLease(session, place, id, options),
  );
}

async function reportPlan(
  { terminal }: Session,
  client: Client,
  workflow: string,
  options: RecoverOptions,
): Promise<number> {
  const query = options.probe === true ? { probe: 'true' as const } : {};
  const plan = await client.ask('GET /v1/workflows/{workflow}/recovery', { params: { workflow }, query });
  terminal.answer(plan);
  if (terminal.json) return EXIT.ok;
  terminal.line(`${terminal.paint('bold', printable(workflow))}  ${plan.definition ?? ''}`.trimEnd());
  const view = { plan, at: options, nowMs: Date.now() };
  terminal.lines(planLines(view, (text) => terminal.paint('bold', text)));
  return EXIT.ok;
}

type Workflow = Answer<'GET /v1/workflows/{workflow}'>;

async function takeLease({ terminal }: Session, place: Place, id: string, at: RecoverOptions): Promise<number> {
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
    terminal.note(
      `${printable(workflow)} is held by ${printable(holder)} (epoch ${epoch}); its lease is taken away now.`,
    );
  }
  const lease = await run.revoke();
  terminal.answer({ workflow, lease });
  if (lease !== null) terminal.line(`What that holder still does no longer counts. ${continuesWith(place)}`);
  else {
    const plan = commandLine('tidemark', 'recover', workflow, '--dry-run', ...atWords(at));
    terminal.line(`Nobody holds ${printable(workflow)}. ${continuesWords(row, place, at)}`);
    terminal.note(terminal.paintNote('dim', `${plan} tells what comes.`));
  }
  return EXIT.ok;
}

function continuesWords({ workflow, activity, status }: Workflow, place: Place, at: RecoverOptions): string {
  const show = showCommand(workflow, at);
  if (status === 'compensating') return `It is being compensated and stands still meanwhile; ${show} shows more.`;
  return activity !== 'waiting' || place.isIdle
    ? continuesWith(place)
    : `None of its tasks can run yet; ${show} tells what they wait for.`;
}
