/** Owns what docs/effects.md shows of a web hook that confirms effects: its sender signs what it sends. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { confirmationHook, HookRefusedError } from '@tidemark/effects';
import type { Client } from '@tidemark/runtime';
import { z } from 'zod';

const delivered = z.object({ id: z.string(), workflow: z.string(), data: z.json() });

export const signatureOf = (body: string, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

async function verified(request: Request, secret: string): Promise<z.infer<typeof delivered>> {
  const body = await request.text();
  const [given, wanted] = [request.headers.get('x-signature') ?? '', signatureOf(body, secret)].map(Buffer.from);
  if (given!.length !== wanted!.length || !timingSafeEqual(given!, wanted!)) throw new HookRefusedError();
  return delivered.parse(JSON.parse(body));
}

export const deliveries = (client: Client, secret: string) =>
  confirmationHook({
    confirm: (workflow, token, outcome) => client.confirm(workflow, token, outcome),
    read: async (request) => {
      const event = await verified(request, secret); // throws HookRefusedError when it isn't genuine
      return { workflow: event.workflow, token: event.id, response: event.data };
    },
  });
