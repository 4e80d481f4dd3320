import { loadGroup } from '@thrice/core';
import { expect, it } from 'vitest';
import { prepareEdit } from '../../../packages/cli/src/spec/prepare-edit.ts';
import { aGroupHeader } from '../../support/builders.ts';
import { benchmarkOn } from '../../support/keyed-benchmark.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ROUTER =
  '[[configs]]\nname = "router"\nsolver = "router"\nmodels = ["openai/a", "grok/b"]\nfail_over = true\nscorer = "includes"\n';

it.each([
  ['in a stage', 'dev', ['unknown', 'unknown'], ['openai', 'grok'], []],
  ['on one machine', undefined, ['present', 'missing'], ['openai'], ['grok']],
] as const)(
  'an edit %s goes by the keys that are there',
  async (_, stage, keys, asked, skipped) => {
    await using folder = await temporaryFolder(benchmarkOn({ openai: '', grok: '' }, ROUTER));
    const terminal = fakeTerminal({
      workingFolder: folder.path,
      environment: { OPENAI_API_KEY: 'sk-of-this-machine' },
    });
    const header = { ...aGroupHeader({ configs: [] }), overrides: { skipMissingKeys: true } };
    const group = loadGroup({ header, state: 'active', isPlanned: true });

    const edit = await prepareEdit(terminal, group, 'benchmark.toml', {
      dir: '.thrice',
      ...(stage !== undefined && { stage }),
    });

    expect(edit.draft.keys).toEqual({ openai: keys[0], grok: keys[1] });
    const router = edit.benchmark.configs.find(({ name }) => name === 'router');
    expect(router?.roles.map(({ lane }) => lane)).toEqual(asked);
    expect([...edit.skipped.keys()]).toEqual(skipped);
  },
);

it('an edit skips again what was skipped for the lack of a key', async () => {
  await using folder = await temporaryFolder(benchmarkOn({ openai: '', grok: '' }));
  const terminal = fakeTerminal({
    workingFolder: folder.path,
    environment: { OPENAI_API_KEY: 'sk-of-this-machine' },
  });
  const [entry] = aGroupHeader().configs;
  if (entry === undefined) throw new Error('expected a config');
  const configs = [
    { ...entry, config: 'openai', cells: 2 },
    { ...entry, config: 'grok', cells: 0 },
  ];
  const header = { ...aGroupHeader({ configs }), overrides: { skipMissingKeys: true } };
  const group = loadGroup({ header, state: 'active', isPlanned: true });

  const edit = await prepareEdit(terminal, group, 'benchmark.toml', { dir: '.thrice' });

  expect([...edit.skipped.keys()]).toEqual(['grok']);
});
