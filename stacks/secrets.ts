import { lanes, pascalCase } from './lanes.ts';

/**
 * The providers' keys, one secret each: `OPENAI_API_KEY` is `sst secret set OpenaiApiKey sk-...`.
 *
 * One that is not set is empty, so that a stage needs only the keys of the lanes it uses.
 *
 * @returns A link whose properties have the variables' names: `Resource.ApiKeys.OPENAI_API_KEY`.
 */
export function createApiKeys() {
  const names = lanes.flatMap(({ apiKeyEnv }) => (apiKeyEnv === undefined ? [] : [apiKeyEnv]));
  return new sst.Linkable('ApiKeys', {
    properties: Object.fromEntries(
      [...new Set(names)].map((name) => [name, new sst.Secret(pascalCase(name), '').value]),
    ),
  });
}
