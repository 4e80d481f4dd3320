import { lanes, pascalCase } from './lanes.ts';

/**
 * Creates one secret per provider key: set `OPENAI_API_KEY` with `sst secret set OpenaiApiKey sk-...`.
 *
 * A key that is not set is empty, so a stage needs only the keys of the lanes it uses.
 *
 * @returns A link whose properties are named after the variables: `Resource.ApiKeys.OPENAI_API_KEY`.
 */
export function createApiKeys() {
  const names = lanes.flatMap(({ apiKeyEnv }) => (apiKeyEnv === undefined ? [] : [apiKeyEnv]));
  return createSecrets('ApiKeys', [...new Set(names)]);
}

/**
 * Creates the secrets of the webhook that `[notify]` of a spec names: its URL and the key of its signature. Set them
 * with `sst secret set ThriceWebhook https://...` and `sst secret set ThriceWebhookSecret whsec_...`.
 */
export function createWebhook() {
  return createSecrets('Webhook', ['THRICE_WEBHOOK', 'THRICE_WEBHOOK_SECRET']);
}

function createSecrets(link: string, names: readonly string[]) {
  return new sst.Linkable(link, {
    properties: Object.fromEntries(
      names.map((name) => [name, new sst.Secret(pascalCase(name), '').value]),
    ),
  });
}
