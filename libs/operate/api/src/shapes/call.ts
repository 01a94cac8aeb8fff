/** Owns how every entry point shows a past model call: what it saw, rebuilt, and what was kept and trimmed. Pure. */

import type { RebuiltCall } from '@tidemark/runtime';

export const callJson = (call: RebuiltCall) => ({
  ...call,
  identical: call.sent === call.rebuilt,
  bundle: call.bundle && { ...call.bundle.bundle, hash: call.bundle.hash },
  manifest: call.bundle?.manifest ?? null,
  messages: call.bundle?.messages ?? null,
});
