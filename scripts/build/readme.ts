/** Owns the README of a published package: what it is, how it is installed, its entry points, and links. Pure. */
import type { BuiltManifest } from './manifest.ts';

/** Packages that users install by name; the others come with them. */
const INSTALLED: Readonly<Record<string, string>> = {
  tidemark: 'npm install @tidemark/sdk tidemark\nnpx tidemark --help',
  '@tidemark/sdk': 'npm install @tidemark/sdk tidemark zod',
  '@tidemark/testkit': 'npm install --save-dev @tidemark/testkit',
};

export function readmeOf(manifest: BuiltManifest, home: string): string {
  const { name, description, bin = {}, exports } = manifest;
  const doors = Object.keys(exports).filter((door) => door !== './package.json');
  const lines = [
    `# ${name}`,
    description,
    `Part of [Tidemark](${home}#readme): event-sourced state for fleets of long-lived AI agents.`,
    `\`\`\`sh\n${INSTALLED[name] ?? `npm install ${name}`}\n\`\`\``,
    ...(Object.keys(bin).length > 0 ? [`Commands: ${Object.keys(bin).map(coded).join(', ')}.`] : []),
    ...(doors.length > 0 ? [`Imports: ${doors.map((door) => coded(`${name}${door.slice(1)}`)).join(', ')}.`] : []),
    'All packages of Tidemark are released together, and each depends on the others at exactly its own version. Node 24 or newer.',
  ];
  return `${lines.join('\n\n')}\n`;
}

const coded = (text: string): string => `\`${text}\``;
