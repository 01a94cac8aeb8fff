/** Owns docs/sdk.md: every export of the SDK's entry point, with its declaration and comment, by purpose. */

import { type Exported, exportsOf } from './declarations.ts';

const DOOR = 'libs/author/sdk/src/index.ts';

/** Sections with their names, in order; an unlisted type goes to the last one, a value must be listed. */
const SECTIONS: readonly (readonly [title: string, about: string, names: readonly string[]])[] = [
  [
    'Workflows',
    'See [concepts](concepts.md#workflow-belief-frontier) and the [tutorial](tutorial.md).',
    [
      'defineWorkflow',
      'WorkflowSpec',
      'Workflow',
      'checkTogether',
      'StepSettings',
      'Change',
      'DoneStep',
      'VersionUpcast',
      'TaskUpcast',
    ],
  ],
  ['In a step', 'What a step is given.', ['Context', 'StepActions', 'Recorded', 'RunOptions', 'Progress']],
  [
    'Tasks and waiting',
    'See [waiting](waiting.md) and [children](children.md).',
    [
      'task',
      'TaskOptions',
      'anyOf',
      'signal',
      'timer',
      'at',
      'approval',
      'child',
      'ChildOptions',
      'CauseOf',
      'ApprovalCause',
      'ChildCause',
    ],
  ],
  [
    'Effects',
    'See [effects](effects.md).',
    [
      'defineEffect',
      'EffectSpec',
      'EffectContext',
      'done',
      'notDone',
      'unknown',
      'pending',
      'ProbeResult',
      'PendingResult',
      'RetryOptions',
      'RetryPolicy',
      'ConfirmationPolicy',
    ],
  ],
  [
    'Errors',
    'An error is of a class by what the caller does next, and has a stable `code`.',
    [
      'TidemarkError',
      'EffectError',
      'FatalError',
      'NotDoneError',
      'WorkflowCancelledError',
      'GateError',
      'ConfigError',
      'ConflictError',
      'CorruptError',
      'FencedError',
      'InvalidError',
      'LimitError',
      'UnavailableError',
    ],
  ],
  [
    'Functions',
    'Ordinary async functions that survive their process: see [a function or an agent](functions.md).',
    [
      'defineFunction',
      'FunctionSpec',
      'DefinedFunction',
      'FunctionContext',
      'Waiting',
      'Answered',
      'CallFailedError',
      'CancelledError',
    ],
  ],
  [
    'Context and models',
    'See [context](context.md).',
    [
      'agent',
      'AgentSpec',
      'Agent',
      'AgentStep',
      'StopCondition',
      'isStepCount',
      'hasToolCall',
      'ToolApproval',
      'ContextSpec',
      'PhaseOptions',
      'BudgetOptions',
      'ModelCallOptions',
      'ModelReply',
      'tool',
      'ToolOptions',
      'toolCallSchema',
      'durableTools',
      'MCP_KEY',
      'taskGoal',
      'constraint',
      'checkpointNote',
      'userMessage',
      'file',
      'FileSource',
      'agentMessage',
      'said',
      'toolCall',
      'toolResult',
    ],
  ],
  ['Dispatch', 'See [dispatch](dispatch.md).', ['Limit', 'Priority']],
  [
    'Pipelines',
    'See [pipelines](files.md).',
    [
      'pipeline',
      'PipelineOptions',
      'PipelineContext',
      'PipelineStepSettings',
      'PipelineBuilder',
      'pipelineSteps',
      'checksumOf',
      'doneKey',
      'doneSchema',
      'handoffKey',
      'handoffSchema',
      'handoffTargets',
      'importedKey',
      'inputDigestOf',
      'inputKey',
      'lastSuccessSchema',
      'LAST_SUCCESS_KEY',
      'pipelineSubject',
      'spentSchema',
      'stepRecordIn',
    ],
  ],
  ['Gates and secrets', '', ['passGate', 'Gate', 'Verdict', 'GateEvidence', 'secret']],
  ['Names', '', ['tenantId', 'workflowId']],
];

const entryOf = ({ name, kind, comment, shape, file }: Exported): string => `### ${name}

*${kind}, [${file}](../${file})*
${comment === '' ? '' : `\n${comment.replace(/^@/gm, '\\@')}\n`}
\`\`\`ts declaration
${shape}
\`\`\`
`;

export async function sdkPage(root: URL): Promise<string> {
  const exported = await exportsOf(root, DOOR);
  const byName = new Map(exported.map((one) => [one.name, one]));
  const named = new Set(SECTIONS.flatMap(([, , names]) => names));
  const gone = [...named].filter((name) => !byName.has(name));
  const others = exported.filter(({ name }) => !named.has(name));
  const values = others.filter(({ kind }) => kind === 'function' || kind === 'class' || kind === 'constant');
  if (gone.length > 0)
    throw new Error(`scripts/reference/sdk.ts names what ${DOOR} doesn't export: ${gone.join(', ')}`);
  if (values.length > 0) {
    const names = values.map(({ name }) => name).join(', ');
    throw new Error(`${DOOR} exports ${names}: name them in a section of scripts/reference/sdk.ts`);
  }
  const sections = [
    ...SECTIONS.map(([title, about, names]) => ({ title, about, list: names.map((name) => byName.get(name)!) })),
    { title: 'Other types', about: 'What the declarations above are made of.', list: others },
  ];
  const seen = new Map<string, number>();
  const anchorOf = (heading: string): string => {
    const slug = heading.toLowerCase().replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
  anchorOf('The SDK');
  const index = sections.map(({ title, list }) => {
    anchorOf(title);
    const links = list.map(({ name }) => `[\`${name}\`](#${anchorOf(name)})`);
    return `| ${title} | ${links.join(' ')} |`;
  });
  const body = sections.map(({ title, about, list }) =>
    [`## ${title}\n`, ...(about === '' ? [] : [`${about}\n`]), ...list.map(entryOf)].join('\n'),
  );
  return `# The SDK

Every export of \`@tidemark/sdk\` with its declaration and comment; \`npm run docs\` makes the page from the declarations. The [tutorial](tutorial.md) and the pages linked below show how they work together.
Other packages: \`@tidemark/effects\` ([effects](effects.md)), \`@tidemark/client\` ([API](api.md)), \`@tidemark/ai\` ([models](context.md)), \`@tidemark/testkit\` (\`testWorld\`, in the [tutorial](tutorial.md#7-die-everywhere)).

| | |
| --- | --- |
${index.join('\n')}

${body.join('\n')}`;
}
