#!/usr/bin/env node
// A stub for the pulumi CLI with the commands that `sst deploy`, `shell`, and `remove` need. It runs the
// program that sst has bundled against Pulumi's mocks, then writes the event log and the checkpoint that
// sst reads. No provider checks the resources, and each is reported as created.
//
// tests/infra/offline-sst.ts installs it where sst looks for pulumi.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createMocks,
  patchUrns,
  seedRandomBytes,
  unwrapSecrets,
} from '../../packages/local-cloud/src/synth/pulumi-mocks.mjs';

/** The version that sst 4.17.1 requires; it would download another. */
const PULUMI_VERSION = 'v3.215.0';

// Saved because the program changes the working directory.
const home = process.cwd();
const args = process.argv.slice(2);
const [command] = args;
const optionOf = (name) => args[args.indexOf(name) + 1];

if (command === 'version') {
  console.log(PULUMI_VERSION);
} else if (command === 'stack' && args[1] === 'init') {
  writeCheckpoint(args[2], []);
} else if (command === 'destroy') {
  writeCheckpoint(optionOf('--stack'), []);
  createEventLog(optionOf('--event-log')).summarize(0);
} else {
  await runProgram();
}

/** `up`, `preview` and `refresh`. */
async function runProgram() {
  const stackName = optionOf('--stack');
  const [, app, stage] = stackName.split('/');
  const [, main] = readFileSync(join(home, 'Pulumi.yaml'), 'utf8').match(/^main: (.*)$/m);
  const requireFromMain = createRequire(main);
  const pulumi = requireFromMain('@pulumi/pulumi');
  const { MockMonitor } = requireFromMain('@pulumi/pulumi/runtime/mocks');
  const isPreview = command === 'preview';

  seedRandomBytes();
  patchUrns(MockMonitor);
  const registered = recordResources(MockMonitor);
  let failure;
  const fail = (error) => {
    failure ??= error;
  };
  process.on('unhandledRejection', fail);
  const mocks = createMocks({ region: regionOf(args) });
  await pulumi.runtime.setMocks(mocks, app, stage, isPreview, 'organization');
  pulumi.runtime
    .runInPulumiStack(async () => (await import(pathToFileURL(main).href)).default)
    .catch(fail);

  process.once('beforeExit', () => {
    const log = createEventLog(optionOf('--event-log'));
    if (failure !== undefined) log.fail(String(failure?.stack ?? failure));
    for (const resource of registered.values()) log.create(resource, isPreview);
    if (!isPreview) writeCheckpoint(stackName, [...registered.values()]);
    log.summarize(registered.size);
    process.exitCode = failure === undefined ? 0 : 1;
  });
}

function regionOf(argv) {
  const setting = argv.find((_, index) => argv[index - 1] === '--config' && isRegion(argv[index]));
  return setting?.split('=')[1] ?? 'us-east-1';
}

function isRegion(setting) {
  return setting.startsWith('aws:region=');
}

/** Records the resources that the program registers, in checkpoint format. */
function recordResources(MockMonitor) {
  const registered = new Map();
  const { registerResource } = MockMonitor.prototype;
  MockMonitor.prototype.registerResource = function (request, callback) {
    return registerResource.call(this, request, (error, response) => {
      if (!error) {
        const urn = response.getUrn();
        const custom = request.getCustom();
        registered.set(urn, {
          urn,
          custom,
          ...(custom && { id: response.getId() }),
          type: request.getType(),
          inputs: unwrapSecrets(request.getObject().toJavaScript()),
          outputs: unwrapSecrets(this.resources.get(urn).state),
          parent: request.getParent() || undefined,
        });
      }
      callback(error, response);
    });
  };
  MockMonitor.prototype.registerResourceOutputs = (request, callback) => {
    const resource = registered.get(request.getUrn());
    if (resource !== undefined) {
      resource.outputs = unwrapSecrets(request.getOutputs()?.toJavaScript() ?? {});
    }
    callback(null, {});
  };
  return registered;
}

function writeCheckpoint(stackName, resources) {
  const [, app, stage] = stackName.split('/');
  const file = join(home, '.pulumi/stacks', app, `${stage}.json`);
  const manifest = { time: '2026-01-01T00:00:00.000Z', magic: '', version: '' };
  const checkpoint = {
    stack: `organization/${app}/${stage}`,
    latest: { manifest, resources },
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ version: 3, checkpoint }));
}

/** Writes the event log that sst follows. */
function createEventLog(file) {
  let sequence = 0;
  const emit = (event) => {
    const timestamp = Math.floor(Date.now() / 1_000);
    appendFileSync(file, `${JSON.stringify({ sequence, timestamp, ...event })}\n`);
    sequence += 1;
  };
  return {
    create({ urn, type, custom, id = '', parent = '', inputs, outputs }, planning) {
      const metadata = {
        op: 'create',
        urn,
        type,
        provider: '',
        old: null,
        new: { type, urn, custom, id, parent, inputs, outputs, provider: '' },
        detailedDiff: null,
      };
      emit({ resourcePreEvent: { metadata, planning } });
      emit({ resOutputsEvent: { metadata, planning } });
    },
    fail(message) {
      emit({
        diagnosticEvent: { prefix: 'error: ', message, color: 'never', severity: 'error' },
      });
    },
    summarize(create) {
      emit({
        summaryEvent: {
          maybeCorrupt: false,
          durationSeconds: 0,
          resourceChanges: create === 0 ? {} : { create },
          PolicyPacks: {},
        },
      });
    },
  };
}
