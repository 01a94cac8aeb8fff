/** Owns docs/events.md: every event of the log with the fields of its control, as core declares it. */

import { commentBefore, sourceOf } from './declarations.ts';

const FILE = 'libs/model/core/src/event.ts';

interface Member {
  readonly name: string;
  readonly comment: string;
  readonly shape: string;
}

/** The members of an interface, and the texts of a union, that the file exports. */
async function declarations(root: URL) {
  const source = await sourceOf(root, FILE);
  const membersOf = (name: string): readonly Member[] =>
    source.body.flatMap((statement) => {
      if (statement.type !== 'ExportNamedDeclaration') return [];
      const { declaration } = statement;
      if (declaration?.type !== 'TSInterfaceDeclaration' || declaration.id.name !== name) return [];
      return declaration.body.body.map((member) => {
        if (member.type !== 'TSPropertySignature') throw new Error(`${FILE}: ${name} has a member that is no property`);
        const { key, typeAnnotation } = member;
        if (key.type !== 'Identifier' || !typeAnnotation) throw new Error(`${FILE}: ${name} has a member without type`);
        const { start, end } = typeAnnotation.typeAnnotation;
        return { name: key.name, comment: commentBefore(source, member.start), shape: source.text.slice(start, end) };
      });
    });
  const union = /export type HolderEventType =([^;]+);/.exec(source.text)?.[1] ?? '';
  const holders = new Set([...union.matchAll(/'(\w+)'/g)].map(([, name]) => name!));
  return { membersOf, holders };
}

const sectionOf = ({ name, comment, shape }: Member): string => {
  const lines = shape.split('\n').map((line) => line.replace(/^ {2}/, ''));
  const control = shape.replace(/\s/g, '') === '{}' ? '' : `\n\`\`\`ts declaration\n${lines.join('\n')}\n\`\`\`\n`;
  return `### ${name}\n${comment === '' ? '' : `\n${comment}\n`}${control}`;
};

export async function eventsPage(root: URL): Promise<string> {
  const { membersOf, holders } = await declarations(root);
  const events = membersOf('Controls');
  if (events.length < 20 || holders.size < 10) throw new Error(`${FILE}: Controls or HolderEventType were not found`);
  const part = (isHolders: boolean) =>
    events
      .filter(({ name }) => holders.has(name) === isHolders)
      .map(sectionOf)
      .join('\n');
  return `# Events

What is in the log: every event, with its *control*, which is stored in the clear and is all that the fold reads. The *payload* (inputs, beliefs, requests, answers, texts) stands beside it, sealed where [encryption](encryption.md) is on, and the
fold never opens it. Made from [${FILE}](../${FILE}) by \`npm run docs\`; the same are read with \`tidemark show ID --events\`, over the [API](api.md), and from archived [segments](retention.md).

Around each is the same envelope: \`v\` (its version), \`id\`, \`tenant\`, \`workflow\`, \`generation\` (which workflow of its partition, counted from 1), \`lamport\`, the fencing token \`epoch\` and \`holder\` with \`ordinal\` (its number within the epoch; 0 and empty on events of the inbox),
\`atMs\` (the writer's clock, for people), \`type\`. Types, fields and codes are only ever added to; an older reader stops a stream at what it doesn't know ([versions](versions.md#releases-of-tidemark-itself)).

## Written by the holder

By the worker that holds the lease, with its token. None counts after the lease is lost. Only these change belief.

${part(true)}
## Written by others

By authorised callers, timers and other workflows, through a coordinator.

${part(false)}
## Rejected

What the fold rejects changes nothing, is counted (\`tidemark_events_rejected_total\`), and kept for audit with its reason: \`tidemark rejected\`.
`;
}
