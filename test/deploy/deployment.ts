/**
 * Owns reading the deployment files as text: what they name, not what they mean (deploy/check.sh has real parsers for
 * that). The settings are read from the sources that define them: those of processes and of access in libs/operate/host, those of TLS by the
 * names of what is secured, those of OpenTelemetry in libs/operate/traces.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { TLS_SERVICES } from '@tidemark/host';

export const projectFolder = path.resolve(import.meta.dirname, '../..');

export const readProjectFile = (file: string): string => readFileSync(path.join(projectFolder, file), 'utf8');

export function filesUnder(folder: string): readonly string[] {
  const names = readdirSync(path.join(projectFolder, folder), { recursive: true, encoding: 'utf8' });
  return names
    .map((name) => path.join(folder, name))
    .filter((file) => statSync(path.join(projectFolder, file)).isFile());
}

export const chartFiles = (): readonly string[] => filesUnder('helm/tidemark');

/** Every file that tells a process its settings, or tells people of them. */
export const deploymentFiles = (): readonly string[] => [
  'docker-compose.yml',
  'docs/deploy.md',
  ...filesUnder('deploy'),
  ...chartFiles(),
];

/** What is a setting by its look. */
export const settingNamesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\bTIDEMARK_[A-Z]+(?:_[A-Z]+)*\b/g)].map(([name]) => name));

/** What reads the environment by name, outside of the sources of settings: the `tidemark` command. */
export function readCommandSettings(): ReadonlySet<string> {
  const sources = filesUnder('libs').filter((file) =>
    /^libs\/(?!testkit\/)[^/]+\/[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file),
  );
  const names = sources.flatMap((file) => [...readProjectFile(file).matchAll(/\benv\.(TIDEMARK_\w+)/g)]);
  const others = readAllSettings();
  return new Set(names.flatMap(([, name = '']) => (others.has(name) ? [] : [name])));
}

/** OpenTelemetry's names that are read; those of one signal are put together there. */
export function readOtelNames(): ReadonlySet<string> {
  const sources = filesUnder('libs/operate/traces/src').filter((file) => !file.endsWith('.test.ts'));
  const signals = ['TRACES', 'METRICS'].flatMap((signal) =>
    ['ENDPOINT', 'HEADERS', 'TIMEOUT', 'PROTOCOL'].map((what) => `OTEL_EXPORTER_OTLP_${signal}_${what}`),
  );
  return new Set([...sources.flatMap((file) => [...otelNamesIn(readProjectFile(file))]), ...signals]);
}

export const otelNamesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\bOTEL_[A-Z]+(?:_[A-Z]+)*\b/g)].map(([name]) => name));

/** `TIDEMARK_TLS` and the switch of each that is secured. */
export const tlsSwitches: readonly string[] = [
  'TIDEMARK_TLS',
  ...TLS_SERVICES.map((service) => `TIDEMARK_${service}_TLS`),
];
export const tlsFileSettings: readonly string[] = tlsSwitches.flatMap((name) =>
  ['CA', 'CERT', 'KEY'].map((file) => `${name}_${file}`),
);

/** The settings of processes and of access: those that the Compose file and the chart have by name. */
export const readPlainSettings = (): ReadonlyMap<string, string | undefined> =>
  new Map([...readSettings(), ...readAccessSettings()]);

export const readAccessSettings = (): ReadonlyMap<string, string | undefined> =>
  readSettings(readProjectFile('libs/operate/host/src/access-config.ts'));

/** Every setting of the services. */
export const readAllSettings = (): ReadonlyMap<string, string | undefined> =>
  new Map([...readPlainSettings(), ...[...tlsSwitches, ...tlsFileSettings].map((name) => [name, ''] as const)]);

/** The settings with their defaults as text, an empty one for none; undefined for one that must be set. */
export function readSettings(
  source = readProjectFile('libs/operate/host/src/config.ts'),
): ReadonlyMap<string, string | undefined> {
  const body = between(source, 'const settings = {\n', '\n} as const;');
  const entries = body.split(/^ {2}(?=TIDEMARK_)/m).filter((entry) => entry.startsWith('TIDEMARK_'));
  return new Map(entries.map((entry) => [entry.slice(0, entry.indexOf(':')), defaultIn(entry)]));
}

function defaultIn(entry: string): string | undefined {
  const value = /\.default\(([^)]*)\)/.exec(entry)?.[1];
  return value?.replaceAll(/['_]|\[\]/g, '');
}

/** The lines that are indented below `key:`, in a text of YAML's shape; throws when there is no such key. */
export function blockOf(text: string, key: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.trimStart().startsWith(`${key}:`));
  if (start < 0) throw new Error(`no key '${key}'`);
  const indent = indentOf(lines[start]!);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && indentOf(line) <= indent);
  return (end < 0 ? rest : rest.slice(0, end)).join('\n');
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

function between(text: string, before: string, after: string): string {
  const start = text.indexOf(before);
  const end = text.indexOf(after, start);
  if (start < 0 || end < 0) throw new Error(`nothing between '${before.trim()}' and '${after.trim()}'`);
  return text.slice(start + before.length, end);
}
