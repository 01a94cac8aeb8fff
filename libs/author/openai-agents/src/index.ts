export { type AgentContext, currentCall, type ToolRule } from './recorded-agents.ts';
export { type RunAgentOptions, runAgent } from './run.ts';
export { type SessionOptions, TidemarkSession } from './session.ts';
