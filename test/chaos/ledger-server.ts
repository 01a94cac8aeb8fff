/**
 * The ledger's process: `node test/chaos/ledger-server.ts FILE SEED` prints its port. Like receivers in the world it sometimes
 * applies without answering, refuses, or is slow; from `calm` on it does none of that. It ends with its standard input.
 */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Ledger } from './ledger.ts';
import { type Answer, lines, type Numbered, type Question } from './ledger-protocol.ts';
import {
  LEDGER_BLIND_SILENT_SHARE,
  LEDGER_REFUSED_SHARE,
  LEDGER_SILENT_SHARE,
  LEDGER_SLOW_MAX_MS,
  LEDGER_SLOW_SHARE,
} from './limits.ts';
import { Random } from './random.ts';

const HUNDRED_THOUSAND = 100_000;

const [file, seed] = process.argv.slice(2);
const ledger = new Ledger(file);
const random = new Random(Number(seed));
let isCalm = false;

const happens = (share: number): boolean => !isCalm && random.between(1, HUNDRED_THOUSAND) <= share;

function answer(socket: Socket, n: number, said: Answer): void {
  if (socket.writable) socket.write(`${JSON.stringify({ n, ...said })}\n`);
}

function apply(socket: Socket, { n, effect, pid }: Numbered<Extract<Question, { do: 'apply' }>>): void {
  if (happens(LEDGER_REFUSED_SHARE)) return answer(socket, n, { said: 'refused', why: 'the receiver is busy' });
  const isSilent = happens(effect.receiver === 'blind' ? LEDGER_BLIND_SILENT_SHARE : LEDGER_SILENT_SHARE);
  const doIt = (): void => {
    const receipt = ledger.apply(effect, pid, Date.now());
    if (!isSilent) answer(socket, n, { said: 'receipt', receipt });
  };
  if (happens(LEDGER_SLOW_SHARE)) setTimeout(doIt, random.between(1, LEDGER_SLOW_MAX_MS));
  else doIt();
}

function obey(socket: Socket, question: Numbered<Question>): void {
  const { n } = question;
  switch (question.do) {
    case 'apply':
      return apply(socket, question);
    case 'find': {
      if (question.receiver === 'blind' && !question.asPerson) {
        return answer(socket, n, { said: 'refused', why: 'this receiver answers no questions' });
      }
      const receipt = ledger.find(question.receiver, question.key);
      return answer(socket, n, receipt === undefined ? { said: 'nothing' } : { said: 'receipt', receipt });
    }
    case 'calm':
      isCalm = true;
      return answer(socket, n, { said: 'nothing' });
  }
}

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on(
    'data',
    lines((line) => obey(socket, JSON.parse(line))),
  );
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
// The terminal's Ctrl-C is for the run, which ends this process last.
process.on('SIGINT', () => {});
process.stdin.on('end', () => process.exit(0));
process.stdin.resume();
