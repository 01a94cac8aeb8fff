/** Owns docs/configuration.md: where settings are, and every fixed limit by its name, as the libraries declare them. */

import { globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Span } from 'oxc-parser';
import { packageFolders } from '../workspaces.ts';
import { commentBefore, sourceOf } from './declarations.ts';

/** Names of limits, without versions and marks of formats, which no one reaches. */
const LIMIT = /^(?!.*(?:VERSION|FORMAT|MAGIC))[A-Z][A-Z\d_]+$|[lL]imits$/;
const TEST = /\.test(-d)?\.ts$|fixture|\/bench\//;

const TITLES: Readonly<Record<string, string>> = {
  api: 'HTTP API',
  'blob-s3': 'Object store',
  cli: 'Command',
  core: 'Core',
  effects: 'Ready-made effects',
  'log-kafka': 'Log on Kafka',
  'log-sqlite': 'Log in a folder',
  mcp: 'MCP server',
  'queue-bullmq': 'Hints and presence on Redis',
  runtime: 'Runtime',
  sdk: 'Definitions',
  segments: 'Segments',
  'store-postgres': 'Rows',
  traces: 'Traces',
};

/** Constants of a file that are a number, and members of those that hold several limits; each with a comment. */
async function limitsIn(root: URL, file: string): Promise<readonly string[]> {
  const source = await sourceOf(root, file);
  const textOf = ({ start, end }: Span): string => source.text.slice(start, end);
  let [comment, end] = ['', 0];
  const row = (name: string, value: string, at: Span): string[] => {
    // One comment may be that of several constants, without a line between them.
    const isNext = /^\n\s*$/.test(source.text.slice(end, at.start));
    const own = commentBefore(source, at.start).replace(/\s+/g, ' ').replaceAll('|', '\\|');
    [comment, end] = [own || (isNext ? comment : ''), at.end];
    return comment === '' ? [] : [`| [\`${name}\`](../${file}) | \`${value}\` | ${comment} |`];
  };
  return source.body.flatMap((statement) => {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declaration?.type !== 'VariableDeclaration') return [];
    return declaration.declarations.flatMap(({ id, init }) => {
      if (id.type !== 'Identifier' || init === null || !LIMIT.test(id.name)) return [];
      if (/^[\d_.\s*+()-]+$/.test(textOf(init))) return row(id.name, textOf(init), statement);
      if (init.type !== 'ObjectExpression' || !/limits$/i.test(id.name)) return [];
      return init.properties.flatMap((property) =>
        property.type === 'Property' ? row(textOf(property.key), textOf(property.value), property) : [],
      );
    });
  });
}

export async function configurationPage(root: URL): Promise<string> {
  const parts: string[] = [];
  const folders = packageFolders(fileURLToPath(root), ['libs']).filter((folder) => folder !== 'libs/testkit');
  for (const folder of folders) {
    const library = path.basename(folder);
    const files = globSync(`${folder}/src/**/*.ts`, { cwd: fileURLToPath(root) }).filter((file) => !TEST.test(file));
    const rows = (await Promise.all(files.sort().map((file) => limitsIn(root, file)))).flat();
    if (rows.length === 0) continue;
    const title = TITLES[library] ?? `@tidemark/${library}`;
    parts.push(`### ${title}\n\n| limit | value | of what |\n| --- | --- | --- |\n${rows.join('\n')}\n`);
  }
  if (parts.length < 5) throw new Error('No limits were found where libraries have them.');
  return `# Configuration

Settings are in the environment, and nowhere else. A test compares these lists of settings and defaults with what processes read:

| what | where |
| --- | --- |
| services and the command on a cluster: servers, partitions, workers, spot notices, tiers, encryption, TLS | [deploy.md](deploy.md#settings) |
| the API, and who may do what over HTTP: keys, OpenID Connect, roles | [access.md](access.md#settings) |
| traces, metrics and logs | [tracing.md](tracing.md#settings) |
| Docker Compose | [deploy.md](deploy.md#one-machine-docker-compose) |
| Kubernetes: every value of the chart | [helm/tidemark/values.yaml](../helm/tidemark/values.yaml) |
| the command's options, and its folder | [cli.md](cli.md) |
| a definition: retries, time-outs, budgets, priorities, limits by key | [the SDK](sdk.md), [effects](effects.md#when-things-go-wrong-what-a-definition-can-say), [dispatch](dispatch.md) |
| a tenant: retention, holds, budgets | [retention.md](retention.md), [context.md](context.md) |

A wrong or missing setting ends the process with exit code 78 and an error that names it, never its value. \`tidemark admin doctor\` checks them against the servers. An embedded folder needs none.

## Fixed limits

Every buffer, batch, retry and wait has a limit with a name and a unit. These can't be set; errors use the same names. Made from the sources by \`npm run docs\`.

${parts.join('\n')}`;
}
