import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { blocksOf } from '../../support/doc-page.ts';
import { readRepository } from '../../support/repository-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The linter of systemd; not every system has it. */
const analyzer = 'systemd-analyze';
const isInstalled = spawnSync(analyzer, ['--version']).status === 0;
const page = readRepository().find(({ path }) => path === 'docs/guides/overnight.md')?.text ?? '';

/** The settings of a unit file as `Section.Key=value`. */
function readUnit(text: string): readonly string[] {
  let section = '';
  return text.split('\n').flatMap((line) => {
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
    return /^\w+=/.test(line) ? [`${section}.${line}`] : [];
  });
}

/** Reads a property list of strings, integers, booleans, arrays and dictionaries, tag by tag as JSON. */
function readPlist(text: string): unknown {
  const json = text
    .replaceAll(/<[?!][^>]*>|<\/?plist[^>]*>/g, '')
    .replaceAll(/<key>([^<]*)<\/key>/g, '"$1":')
    .replaceAll(/<string>([^<]*)<\/string>/g, '"$1",')
    .replaceAll(/<integer>(\d+)<\/integer>/g, '$1,')
    .replaceAll(/<(true|false)\/>/g, '$1,')
    .replaceAll('<array>', '[')
    .replaceAll('</array>', '],')
    .replaceAll('<dict>', '{')
    .replaceAll('</dict>', '},')
    .replaceAll(/,\s*(?=[\]}]|$)/g, '');
  return JSON.parse(json);
}

describe('the unit of systemd in the docs', () => {
  const [unit = ''] = blocksOf(page, 'ini');

  it('restarts always, stops the command alone first, and reads keys from a file', () => {
    expect(readUnit(unit)).toEqual(
      expect.arrayContaining([
        'Unit.StartLimitIntervalSec=0',
        'Service.EnvironmentFile=-%h/.config/thrice/keys.env',
        'Service.ExecStart=%h/.local/bin/thrice work --all',
        'Service.Restart=always',
        'Service.KillMode=mixed',
        'Service.SuccessExitStatus=130',
        'Install.WantedBy=default.target',
      ]),
    );
  });

  it.runIf(isInstalled)('has nothing that systemd-analyze finds fault with', async () => {
    // The program and the folder exist on this machine; nothing else of the unit is changed.
    const local = unit.replace('%h/.local/bin/thrice', '/bin/true').replace('%h/benchmarks', '/');
    await using folder = await temporaryFolder({ 'thrice.service': local });

    const checked = spawnSync(
      analyzer,
      ['verify', '--user', '--man=no', folder.resolve('thrice.service')],
      { encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: folder.path } },
    );

    const complaints = checked.stderr.split('\n');
    expect(complaints.filter((line) => line.includes('thrice.service'))).toEqual([]);
  });
});

describe('the property list of launchd in the docs', () => {
  it('keeps the command running, and lets it finish the calls in flight', () => {
    const [plist = ''] = blocksOf(page, 'xml');

    expect(readPlist(plist)).toMatchObject({
      Label: 'thrice',
      ProgramArguments: ['/usr/bin/caffeinate', '-i', '/usr/local/bin/thrice', 'work', '--all'],
      RunAtLoad: true,
      KeepAlive: true,
      ExitTimeOut: 900,
    });
  });
});
