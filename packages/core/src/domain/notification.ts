import * as z from 'zod';

/** What a webhook can be told of; `on` in `[notify]` chooses. */
export const notifiedEventSchema = z.enum(['end', 'pause', 'failure', 'budget']);

/** A message about a group for a webhook, from when it is due until it has been sent. */
export const notificationSchema = z.strictObject({
  schemaVersion: z.literal(1),
  group: z.string(),
  /** Tells the events of a group apart: the same event has the same key, whoever sees it. */
  key: z.string(),
  event: notifiedEventSchema,
  at: z.iso.datetime(),
  /** For people. */
  text: z.string(),
  /** For programs: flat, because Slack takes no other metadata. */
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  /** The variables that hold the URL and the secret of the signature. */
  webhookEnv: z.string(),
  secretEnv: z.string().nullable(),
  /** How often sending it has failed. */
  failureCount: z.int().min(0),
  /** When it may be sent again; null at once. */
  dueAt: z.iso.datetime().nullable(),
});
/** A message about a group for a webhook. */
export type Notification = z.infer<typeof notificationSchema>;
