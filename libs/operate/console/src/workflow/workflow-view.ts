/** Owns the shape of one workflow as the API returns it. */

import type { api } from '../shell/client.ts';

export type WorkflowView = Awaited<ReturnType<ReturnType<typeof api.run>['get']>>;
