/** Owns `tidemark session show`, `resume` and `handover`: what is needed to continue a session, continuing it, and handing it over. */

import { EXIT } from '@tidemark/host/exit-codes';
import { type Session as SessionFound, sessionText } from '@tidemark/mcp/session-text';
import { readDefinitions } from '../definitions.ts';
import { readJson } from '../input.ts';
import { atPlace, type OfTenant } from '../place/place.ts';
import type { Session } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { atWords, commandLine } from '../text/shell.ts';
import { printable } from '../text/width.ts';

export interface HandOverOptions extends OfTenant {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifact?: readonly string[] | undefined;
}

export interface ResumeSessionOptions extends OfTenant {
  readonly definition?: string | undefined;
  readonly input?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
}

export async function sessionShow(session: Session, id: string, options: OfTenant): Promise<number> {
  const { terminal } = session;
  const found = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/sessions/{session}', { params: { session: id }, query: { tenant: options.tenant } }),
  );
  terminal.answer(found);
  showSession(terminal, found);
  return EXIT.ok;
}

export async function sessionResume(session: Session, id: string, options: ResumeSessionOptions): Promise<number> {
  const { terminal, cwd } = session;
  const { definition, workflows: named = [], tenant } = options;
  const input = options.input === undefined ? undefined : await readJson('--input', options.input, session);
  const body = { ...(definition !== undefined && { definition }), ...(input !== undefined && { input }) };
  const definitions = async () => (named.length === 0 ? [] : readDefinitions(named, cwd));
  return atPlace(session, { ...options, how: 'read', definitions }, async (place) => {
    const request = { params: { session: id }, query: { tenant }, body };
    const resumed = await place.client.ask('POST /v1/sessions/{session}/resume', request);
    const { workflow, created } = resumed;
    terminal.answer(resumed);
    terminal.line(workflow);
    showSession(terminal, resumed.session);
    if (!created && Object.keys(body).length > 0) {
      terminal.warn(`${workflow} was started before; --definition and --input are not used`);
    }
    const follow = commandLine('tidemark', 'watch', workflow, ...atWords(options));
    terminal.note(
      terminal.paintNote(
        'dim',
        place.isIdle
          ? `Nothing runs workflows on ${place.shown}: it advances with the next tidemark dev or run there.`
          : `${follow} follows it.`,
      ),
    );
    return EXIT.ok;
  });
}

function showSession(terminal: Terminal, found: SessionFound): void {
  const [head = '', ...rest] = sessionText(found).split('\n');
  terminal.line(terminal.paint('bold', printable(head)));
  terminal.lines(rest.map(printable));
}

export async function sessionHandOver(session: Session, id: string, options: HandOverOptions): Promise<number> {
  const { from, to, message, artifact: artifacts = [] } = options;
  const input = { params: { session: id }, query: { tenant: options.tenant }, body: { from, to, message, artifacts } };
  const done = await atPlace(session, { ...options, how: 'write' }, ({ client }) =>
    client.ask('POST /v1/sessions/{session}/handovers', input),
  );
  const { terminal } = session;
  terminal.answer(done);
  terminal.line(`Session ${printable(id)} is handed over from ${printable(from)} to ${printable(to)}.`);
  if (!done.is_known) terminal.warn('no workflow of this session was started yet; the first one will see it');
  return EXIT.ok;
}
