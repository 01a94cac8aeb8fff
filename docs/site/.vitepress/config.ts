/** Owns how the site looks and is gone through. Its pages are made by ../stage/stage.ts; a link that leads nowhere fails the build. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitepress';
import { slugOf } from '../../../test/docs/markdown.ts';

const PAGES = path.resolve(import.meta.dirname, '../pages');

/** The first heading of each page of a folder, in order of their names. */
const listed = (folder: string) =>
  readdirSync(path.join(PAGES, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => {
      const text = readFileSync(path.join(PAGES, folder, name), 'utf8');
      const title = /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? name;
      return { text: title, link: `/${folder}/${name.replace(/\.md$/, '')}` };
    });
const pages = (entries: Readonly<Record<string, string>>) =>
  Object.entries(entries)
    .filter(([link]) => existsSync(path.join(PAGES, `${link}.md`)))
    .map(([link, text]) => ({ text, link: `/${link}` }));

export default defineConfig({
  lang: 'en',
  title: 'Tidemark',
  description: 'The state of long-lived AI agents in an event-sourced checkpoint log.',
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: true,
  lastUpdated: false,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/mark.svg' }]],
  markdown: {
    // Comments of code speak of `<T>` and `{ a, b }`, which are neither tags nor attributes.
    attrs: { disable: true },
    config: (md) => void md.set({ html: false }),
    theme: { light: 'github-light', dark: 'github-dark' },
    anchor: { slugify: slugOf },
    languageAlias: { promql: 'text', console: 'shellsession' },
  },
  themeConfig: {
    logo: '/mark.svg',
    search: {
      provider: 'local',
      options: {
        // The front matter is known once it is rendered.
        _render: (src, env, md) => {
          const html = md.render(src, env);
          return env.frontmatter?.search === false ? '' : html;
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Guides', link: '/guides/spot-instances', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/sdk', activeMatch: '^/(sdk|cli|api|configuration|metrics|events)$' },
      { text: 'Operations', link: '/deploy', activeMatch: '^/(deploy|runbook|upgrade)$' },
      { text: 'Comparison', link: '/comparison' },
    ],
    sidebar: [
      {
        text: 'Begin',
        items: pages({
          tutorial: 'First workflow in ten minutes',
          concepts: 'Concepts',
          functions: 'A function or an agent',
          guarantees: 'Guarantees',
          comparison: 'Compared with others',
          benchmarks: 'Benchmarks',
          overview: 'All pages',
        }),
      },
      {
        text: 'Guides',
        items: pages({
          'guides/spot-instances': 'Spot instances',
          'guides/human-approval': 'Asking a person',
          'guides/sagas': 'Undoing: sagas',
          'guides/from-a-script': 'From a plain script',
          'guides/from-bullmq': 'From BullMQ',
          'guides/from-langgraph': 'From LangGraph',
          'guides/frameworks': 'Agents of other frameworks',
          'guides/langgraph': 'LangGraph on Tidemark',
          'guides/openai-agents': 'OpenAI Agents on Tidemark',
          'guides/claude-agent-sdk': 'Claude Agent SDK on Tidemark',
        }),
      },
      {
        text: 'What a workflow can do',
        items: pages({
          effects: 'Effects',
          waiting: 'Waiting',
          children: 'Children',
          continuing: 'Fresh histories',
          schedules: 'Schedules',
          dispatch: 'Priorities and limits',
          lifecycle: 'Cancel, pause, resume',
          context: 'Context and memory',
          prompts: 'What a model is sent',
          versions: 'Versions',
          files: 'Pipelines and files',
          'repo-state': 'State in a repository',
          shadow: 'Shadow mode',
        }),
      },
      {
        text: 'Reference',
        items: pages({
          sdk: 'SDK',
          cli: 'Command',
          api: 'HTTP API',
          mcp: 'MCP',
          configuration: 'Configuration',
          metrics: 'Metrics',
          events: 'Events',
        }),
      },
      {
        text: 'Operations',
        items: pages({
          deploy: 'Deployment',
          runbook: 'Runbook',
          scaling: 'Scaling',
          load: 'Ten times the load',
          console: 'Console',
          tracing: 'Traces, metrics, logs',
          upgrade: 'Upgrade and rollback',
          retention: 'Retention and tiers',
        }),
      },
      {
        text: 'Security',
        items: pages({
          security: 'Reporting',
          'threat-model': 'Threat model',
          access: 'Access',
          encryption: 'Encryption',
        }),
      },
      {
        text: 'Project',
        items: [
          ...pages({ contributing: 'Contributing', dependencies: 'Dependencies' }),
          { text: 'Decisions', collapsed: true, items: listed('decisions') },
        ],
      },
    ],
    footer: { message: 'Apache-2.0' },
  },
});
