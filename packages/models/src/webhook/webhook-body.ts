import type { Notification } from '@thrice/core';

/**
 * Discord takes no longer text: https://discord.com/developers/docs/resources/webhook#execute-webhook (2026-11). What
 * is escaped counts with its escapes.
 */
const MAX_TEXT_CHARS = 1_900;

/**
 * The body of a webhook: Slack's `text`, which Mattermost and Discord's `/slack` address take too, and the facts as
 * Slack's `metadata`, whose values must be texts, numbers or booleans. The other two ignore it: Mattermost reads the
 * keys that it knows, and Discord names those that it does not support (`channel`, `icon_emoji`, `mrkdwn`, `mrkdwn_in`).
 *
 * @see https://docs.slack.dev/tools/node-slack-sdk/reference/webhook/interfaces/IncomingWebhookSendArguments,
 *   https://docs.slack.dev/tools/node-slack-sdk/reference/web-api/interfaces/MessageMetadataEventPayloadObject,
 *   https://docs.mattermost.com/developers/integrate/webhooks/incoming,
 *   https://discord.com/developers/docs/resources/webhook#execute-slackcompatible-webhook (2026-11)
 */
export function webhookBody({ group, event, at, text, facts }: Notification): string {
  return JSON.stringify({
    text: harmless(text),
    metadata: { event_type: `thrice_${event}`, event_payload: { group, event, at, ...facts } },
  });
}

/**
 * What a vendor said must not notify a whole channel, pose as a link or hide itself: control characters become
 * spaces, Slack's three special characters are escaped, and no name follows an `@` directly.
 *
 * @see https://docs.slack.dev/messaging/formatting-message-text (2026-11)
 */
function harmless(text: string): string {
  const escaped = text
    .replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b');
  return escaped.length <= MAX_TEXT_CHARS ? escaped : `${escaped.slice(0, MAX_TEXT_CHARS)} ...`;
}
