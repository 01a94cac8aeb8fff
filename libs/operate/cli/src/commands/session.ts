/** Owns `tidemark session show` and `handover`: all that is needed to go on with a session, and passing it on. */

import { EXIT } from '@tidemark/host/exit-codes';
import { sessionText } from '@tidemark/mcp/session-text';
import { atPlace, type OfTenant } from '../place/place.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';

export interface HandOverOptions extends OfTenant {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifact?: readonly string[] | undefined;
}

export async function sessionShow(session: Session, id: string, options: OfTenant): Promise<number> {
  const { terminal } = session;
  const found = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/sessions/{session}', { params: { session: id }, query: { tenant: options.tenant } }),
  );
  terminal.answer(found);
  const [head = '', ...rest] = sessionText(found).split('\n');
  terminal.line(terminal.paint('bold', printable(head)));
  terminal.lines(rest.map(printable));
  return EXIT.ok;
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
  if (!done.is_known) terminal.warn('no workflow of this session was started yet; the first one will be told');
  return EXIT.ok;
}
