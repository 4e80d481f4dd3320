import type { ThriceError } from '@thrice/core';

/** Says what to do about the error of a call; undefined where only its message can tell. */
export function remedyOf(code: ThriceError['code']): string | undefined {
  return remedies[code];
}

/** What to do about the errors of a call; `docs/errors.md` says more. */
const remedies: Readonly<Partial<Record<ThriceError['code'], string>>> = {
  'auth-failed': 'set the right key in the variable that api_key_env names',
  'unknown-model': 'correct model',
  'wrong-served-model':
    'request the model by the name it is served under, or set served_model = "warn" or "allow"',
  'structured-output-refused':
    'add the model to tagged_text of its lane, so that it is asked for the confidence in the text',
  'truncated-response': 'check base_url: it ends with the API version, as in /v1',
  'endpoint-unreachable': 'correct base_url: it ends with the API version, as in /v1',
  'connection-failed': 'check base_url, the network, and that the server runs',
  'model-timeout': 'raise timeout_s, or check the server',
  'model-unavailable': 'try again later',
  'model-rate-limited': 'lower max_concurrency, or try again later',
  'quota-exhausted': 'wait for the reset or top up the account',
  'invalid-request': "correct the config's parameters or extra_body",
  'context-too-long': 'raise the context length of the server',
};
