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
  return new sst.Linkable('ApiKeys', {
    properties: Object.fromEntries(
      [...new Set(names)].map((name) => [name, new sst.Secret(pascalCase(name), '').value]),
    ),
  });
}
