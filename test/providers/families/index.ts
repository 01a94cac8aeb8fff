/** Owns the list of the families of providers that prompts are judged by. */

import type { Family } from '../judge.ts';
import { anthropic } from './anthropic.ts';
import { bedrock } from './bedrock.ts';
import { compatible } from './compatible.ts';
import { google } from './google.ts';
import { mistral } from './mistral.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

export const FAMILIES: readonly Family[] = [
  openaiChat,
  openaiResponses,
  anthropic,
  google,
  mistral,
  bedrock,
  compatible,
];
