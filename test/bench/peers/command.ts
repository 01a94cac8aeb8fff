/** Owns the options of `npm run bench -- peers`. */

import { parseArgs } from 'node:util';
import { median, type Report } from '../report.ts';
import { quickSizes } from './measure.ts';
import { sections } from './page.ts';
import { measurePeers, type PeerPart, type PeersOptions, peerParts } from './peers.ts';

export const PEERS_USAGE = `npm run bench -- peers [--json] [--only NAME,NAME] [--parts ${peerParts.join(',')}]
                                [--passes 2] [--data memory|disk] [--quick] [--write]`;

/** Undefined of arguments that are none of it. */
function optionsFrom(args: readonly string[]): PeersOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      only: { type: 'string' },
      parts: { type: 'string' },
      passes: { type: 'string', default: '2' },
      data: { type: 'string', default: 'memory' },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const { only, data, quick, write } = values;
  const parts = values.parts?.split(',') ?? peerParts;
  const passes = Number(values.passes);
  if (data !== 'memory' && data !== 'disk') return undefined;
  if (!Number.isInteger(passes) || passes < 1 || !parts.every(isPart)) return undefined;
  // A page of some of the systems, or of a few steps, would be taken for the comparison.
  const isWhole = sections.some((section) =>
    section.parts.every((part) => (parts as readonly string[]).includes(part)),
  );
  if (write && (only !== undefined || quick || !isWhole)) return undefined;
  return {
    only,
    dataIn: data,
    parts: parts as readonly PeerPart[],
    passes,
    write,
    ...(quick && { sizes: quickSizes }),
  };
}

const isPart = (part: string): boolean => (peerParts as readonly string[]).includes(part);

/** Returns the exit code. */
export async function peersCommand(args: readonly string[], report: Report): Promise<number> {
  const options = optionsFrom(args);
  if (options === undefined) {
    report.note(
      `usage: ${PEERS_USAGE}\n--write takes neither --only nor --quick: a page is of all systems; of --parts it needs ${sections.map(({ parts }) => parts.join(',')).join(', or ')}`,
    );
    return 64;
  }
  const { failures, loopNs } = await measurePeers(report, options);
  report.add('machine.loop_ns', median(loopNs), 'ns');
  report.add('machine.loop_spread', Math.max(...loopNs) / Math.min(...loopNs), 'ratio');
  return failures.size === 0 ? 0 : 1;
}
