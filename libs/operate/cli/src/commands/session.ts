/** Owns `tidemark session show`, `resume` and `handover`: what is needed to continue a session, continuing it, and handing it over. */

import type { Session as SessionFound } from '@tidemark/mcp/session-text';
import { repeated } from '../arguments.ts';
import { readJson } from '../input.ts';
import { group, type ProgramKit } from '../program/program-kit.ts';
import { modules, ofOwner } from '../program/shared-options.ts';
import type { Terminal } from '../terminal.ts';
import { atWords, commandLine } from '../text/shell.ts';
import { printable } from '../text/width.ts';

export function addSession(kit: ProgramKit): void {
  const { asks } = kit;
  const inGroup = group(kit, 'session', 'continue a session of an agent, or hand it over');
  const sub = (usage: string, what: string) => ofOwner(inGroup(usage, what)).argument('<session>', 'id of the session');
  sub(
    'show',
    'print everything that is needed to continue: status, what it waits for, belief, notes, hand-overs',
  ).action(
    asks('read', (session, { tenant }) => async ({ client, terminal, report }) => {
      const found = await client.ask('GET /v1/sessions/{session}', { params: { session }, query: { tenant } });
      report(found, ...(await sessionLines(terminal, found)));
    }),
  );
  modules(kit, sub('resume', 'resume its live workflow, or start the next one where all have ended'))
    .option('--definition <name>', 'start this one (default: that of the newest workflow of the session)')
    .option('--input <json>', 'start it with this: JSON, @file or - (default: the input of the newest workflow)')
    .action(
      asks('read', async (session, options) => {
        const { definition, tenant } = options;
        const input = options.input === undefined ? undefined : await readJson('--input', options.input, kit);
        const request = { params: { session }, query: { tenant }, body: { definition, input } };
        return async ({ client, place, terminal, report }) => {
          const resumed = await client.ask('POST /v1/sessions/{session}/resume', request);
          const { workflow, created } = resumed;
          report(resumed, workflow, ...(await sessionLines(terminal, resumed.session)));
          if (!created && (definition !== undefined || input !== undefined)) {
            terminal.warn(`${workflow} was started before; --definition and --input are not used`);
          }
          const then = place.isIdle
            ? `Nothing runs workflows on ${place.shown}: it advances with the next tidemark dev or run there.`
            : `${commandLine('tidemark', 'watch', workflow, ...atWords(options))} follows it.`;
          terminal.note(terminal.paintNote('dim', then));
        };
      }),
    );
  sub('handover', 'hand a session over, with what the next one needs to know')
    .requiredOption('--from <name>', 'who hands over')
    .requiredOption('--to <name>', 'who continues it: an agent or a person')
    .requiredOption('--message <text>', 'what they need to know')
    .option('--artifact <name>', 'something they need, such as a path; may be repeated', repeated)
    .action(
      asks('write', (session, { from, to, message, tenant, artifact = [] }) => async ({ client, terminal, report }) => {
        const body = { from, to, message, artifacts: artifact };
        const input = { params: { session }, query: { tenant }, body };
        const done = await client.ask('POST /v1/sessions/{session}/handovers', input);
        report(done, `Session ${printable(session)} is handed over from ${printable(from)} to ${printable(to)}.`);
        if (!done.is_known) terminal.warn('no workflow of this session was started yet; the first one will see it');
      }),
    );
}

async function sessionLines(terminal: Terminal, found: SessionFound): Promise<readonly string[]> {
  const { sessionText } = await import('@tidemark/mcp/session-text');
  const [head = '', ...rest] = sessionText(found).split('\n');
  return [terminal.paint('bold', printable(head)), ...rest.map(printable)];
}
