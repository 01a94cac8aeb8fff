/** Owns docs/configuration.md: where settings are, and every fixed limit by its name, as the libraries declare them. */

import { globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Span } from 'oxc-parser';
import { packageFolders } from '../workspaces.ts';
import { commentBefore, sourceOf } from './declarations.ts';

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

/** Exported constants of a file that are a number, and members of those that hold several limits; with comments. */
async function limitsIn(root: URL, file: string): Promise<readonly string[]> {
  const source = await sourceOf(root, file);
  const commentAt = (start: number): string => commentBefore(source, start).replace(/\s+/g, ' ').replaceAll('|', '\\|');
  const textOf = ({ start, end }: Span): string => source.text.slice(start, end);
  const row = (name: string, value: string, comment: string): string => `| \`${name}\` | \`${value}\` | ${comment} |`;
  const declarations = source.body.flatMap((statement) =>
    statement.type === 'ExportNamedDeclaration' && statement.declaration !== null
      ? [{ start: statement.start, declaration: statement.declaration }]
      : [],
  );
  return declarations.flatMap(({ start, declaration }) => {
    if (declaration.type !== 'VariableDeclaration') return [];
    return declaration.declarations.flatMap(({ id, init }) => {
      if (id.type !== 'Identifier' || init === null) return [];
      if (/^[\d_.\s*+()-]+$/.test(textOf(init))) return [row(id.name, textOf(init), commentAt(start))];
      if (init.type !== 'ObjectExpression' || !/limits$/i.test(id.name)) return [];
      return init.properties.flatMap((property) =>
        property.type === 'Property'
          ? [row(textOf(property.key), textOf(property.value), commentAt(property.start))]
          : [],
      );
    });
  });
}

export async function configurationPage(root: URL): Promise<string> {
  const parts: string[] = [];
  const folders = packageFolders(fileURLToPath(root), ['libs']).filter((folder) => folder !== 'libs/testkit');
  for (const folder of folders) {
    const library = path.basename(folder);
    for (const file of globSync(`${folder}/src/{limits.ts,*/limits.ts}`, { cwd: fileURLToPath(root) }).sort()) {
      const rows = await limitsIn(root, file);
      if (rows.length === 0) continue;
      const room = path.basename(path.dirname(file));
      const title = `${TITLES[library] ?? `@tidemark/${library}`}${room === 'src' ? '' : `: ${room}`}`;
      parts.push(
        `### ${title}\n\n[${file}](../${file})\n\n| limit | value | of what |\n| --- | --- | --- |\n${rows.join('\n')}\n`,
      );
    }
  }
  if (parts.length < 5) throw new Error('No limits.ts was found where libraries have them.');
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
