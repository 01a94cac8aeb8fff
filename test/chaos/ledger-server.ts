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

function answer(socket: Socket, line: string): void {
  const question = JSON.parse(line) as Numbered<Question>;
  obey(question, (said) => {
    if (socket.writable) socket.write(`${JSON.stringify({ n: question.n, ...said })}\n`);
  });
}

function apply({ effect, pid }: Extract<Question, { do: 'apply' }>, say: (said: Answer) => void): void {
  if (happens(LEDGER_REFUSED_SHARE)) {
    say({ said: 'refused', why: 'the receiver is busy' });
    return;
  }
  const isSilent = happens(effect.receiver === 'blind' ? LEDGER_BLIND_SILENT_SHARE : LEDGER_SILENT_SHARE);
  const doIt = (): void => {
    const receipt = ledger.apply(effect, pid, Date.now());
    if (!isSilent) say({ said: 'receipt', receipt });
  };
  if (happens(LEDGER_SLOW_SHARE)) setTimeout(doIt, random.between(1, LEDGER_SLOW_MAX_MS));
  else doIt();
}

function find({ receiver, key, asPerson }: Extract<Question, { do: 'find' }>): Answer {
  if (receiver === 'blind' && !asPerson) return { said: 'refused', why: 'this receiver answers no questions' };
  const found = ledger.find(receiver, key);
  return found === undefined ? { said: 'nothing' } : { said: 'found', ...found };
}

function obey(question: Question, say: (said: Answer) => void): void {
  if (question.do === 'apply') apply(question, say);
  else if (question.do === 'find') say(find(question));
  else {
    isCalm = true;
    say({ said: 'nothing' });
  }
}

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on(
    'data',
    lines((line) => answer(socket, line)),
  );
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
// The terminal's Ctrl-C is for the run, which ends this process last.
process.on('SIGINT', () => {});
process.stdin.on('end', () => process.exit(0));
process.stdin.resume();
