/** Owns `tidemark session show` and `handover`: all that is needed to go on with a session, and passing it on. */

import { InvalidError } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { sessionText } from '@tidemark/mcp/session-text';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';
import { atDesk, type MemoryOptions } from './memory-place.ts';

export interface HandOverOptions extends MemoryOptions {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifact?: readonly string[] | undefined;
}

export async function sessionShow(session: Session, id: string, options: MemoryOptions): Promise<number> {
  const { terminal } = session;
  const brief = await atDesk(session, options, 'look', (desk, tenant) => desk.memory.brief(tenant, id));
  if (brief === null)
    throw new InvalidError('session-unknown', `Nothing is known of a session '${id}'.`, { session: id });
  terminal.document(brief);
  const [head = '', ...rest] = sessionText(brief).split('\n');
  terminal.line(terminal.paint('bold', printable(head)));
  terminal.lines(rest.map(printable));
  return EXIT.ok;
}

export async function sessionHandOver(session: Session, id: string, options: HandOverOptions): Promise<number> {
  const { from, to, message, artifact: artifacts = [] } = options;
  const known = await atDesk(session, options, 'write', async (desk, tenant) => {
    const before = await desk.memory.brief(tenant, id);
    await desk.memory.handOver(tenant, id, { from, to, message, artifacts });
    return before?.workflow ?? null;
  });
  const { terminal } = session;
  terminal.document({ session: id, from, to, message, artifacts, is_known: known !== null });
  terminal.line(`Session ${printable(id)} is handed over from ${printable(from)} to ${printable(to)}.`);
  if (known === null) terminal.warn('no workflow of this session was started yet; the first one will be told');
  return EXIT.ok;
}
