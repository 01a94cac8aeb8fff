/** Owns the arguments and options of `login`, `logout`, `whoami` and `contexts`, and their help. Must hold no logic. */

import type { OptionsIn, ProgramKit } from './program-kit.ts';
import { jsonOption, places } from './shared-options.ts';

export function loginCommands({ command }: ProgramKit) {
  const login = command('login', 'log in to the API of a server, which commands ask from now on')
    .argument('[url]', 'its address (default: that of the context, whose credential is renewed)')
    .option('--context <name>', "a name for it (default: the server's)")
    .option('--key <source>', 'an API key: @file, or - for standard input')
    .option('--oidc <issuer>', 'an issuer of tokens that it trusts: you type a code in a browser')
    .option('--client-id <id>', 'as the issuer knows this program')
    .option('--audience <name>', 'for whom the tokens are, where the issuer asks')
    .option('--scope <scopes>', 'scopes to request from the issuer', 'openid offline_access')
    .addOption(jsonOption());
  const logout = command('logout', 'forget a context and its credential')
    .option('--context <name>', 'which one (default: the current one)')
    .addOption(jsonOption());
  const whoami = places(command('whoami', 'who you are there, and what you may do'));
  const parent = command('contexts', 'the servers that are known here, and which of them is used');
  const sub = (usage: string, what: string, isDefault = false) =>
    parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent).addOption(jsonOption());
  const list = sub('list', 'all of them', true);
  const use = sub('use', 'ask this one from now on; without a name, the folder').argument('[name]', 'its name');
  return { login, logout, whoami, list, use };
}

export type LoginOptions = OptionsIn<typeof loginCommands>['login'];
