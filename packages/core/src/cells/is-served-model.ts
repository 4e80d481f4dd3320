/**
 * Whether an answer comes from the requested model.
 *
 * Vendors serve an alias as a dated or pinned version of itself and gateways drop the owner's
 * prefix, so one name may begin with, or end in, the other at a name's boundary. An answer that
 * names no model is taken as it is.
 *
 * @param requested - The name that was sent.
 * @param served - The name in the response; null if it had none.
 */
export function isServedModel(requested: string, served: string | null): boolean {
  if (served === null || served === '') return true;
  const [asked, got] = [bareName(requested), bareName(served)];
  return asked === got || startsAtBoundary(got, asked) || startsAtBoundary(asked, got);
}

function bareName(name: string): string {
  return (name.toLowerCase().split('/').at(-1) ?? '').replace(/[-_]latest$/, '');
}

/**
 * Versions are dates or build numbers: `gpt-5-2026-01-01` is a `gpt-5`; `gpt-5-mini`, `sonnet-4-5` for
 * `sonnet-4` and `llama-3-70b` for `llama-3` are models of their own.
 */
function startsAtBoundary(name: string, stem: string): boolean {
  return name.startsWith(stem) && /^[-@:_](?:v\d|\d{3,}(?![a-z\d]))/.test(name.slice(stem.length));
}
