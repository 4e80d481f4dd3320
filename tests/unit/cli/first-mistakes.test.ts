import { join } from 'node:path';
import { LocalEngine } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { aGroupHeader } from '../../support/builders.ts';
import { callThrice } from '../../support/run-thrice.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A mistake as somebody makes it on the first day, and what the command says to it. */
interface Mistake {
  readonly name: string;
  /** @default a valid spec and its questions */
  readonly files?: Readonly<Record<string, string>>;
  /** @default run benchmark.toml */
  readonly argv?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** @default 64 */
  readonly exitCode?: number;
  /** What is printed, as far as it matters; `<folder>` stands for the folder. */
  readonly says: readonly string[];
}

const QUESTION = '{"id": "q1", "question": "1 + 1?", "target": "2"}\n';
/** A server that is not there: no request is sent for any of these mistakes. */
const LANE = 'base_url = "http://127.0.0.1:9/v1"';
const CONFIG = 'name = "a"\nmodel = "lab/m"\nscorer = "exact"';

/** A valid spec; each part can be replaced. */
function aSpec({
  top = 'questions = "questions.jsonl"',
  lane = LANE,
  config = CONFIG,
  more = '',
}: {
  readonly top?: string;
  readonly lane?: string;
  readonly config?: string;
  readonly more?: string;
} = {}): string {
  return `${top}\n[lanes.lab]\n${lane}\n[[configs]]\n${config}\n${more}\n`;
}

const files = (spec: string, questions = QUESTION) => ({
  'benchmark.toml': spec,
  'questions.jsonl': questions,
});
const withTop = (line: string) => files(aSpec({ top: `questions = "questions.jsonl"\n${line}` }));
const withLane = (line: string) => files(aSpec({ lane: `${LANE}\n${line}` }));
const withUrl = (url: string) => files(aSpec({ lane: `base_url = "${url}"` }));
const withConfig = (line: string) => files(aSpec({ config: `${CONFIG}\n${line}` }));
const withModel = (model: string) => files(aSpec({ config: `name = "a"\nmodel = "${model}"` }));
const withScorer = (line: string) =>
  files(aSpec({ config: `name = "a"\nmodel = "lab/m"\nscorer = ${line}` }));
const withPath = (path: string) => files(aSpec({ top: `questions = ${path}` }));
const withMore = (more: string) => files(aSpec({ more }));
const withRows = (rows: string, scorer = 'exact') =>
  files(aSpec({ config: `name = "a"\nmodel = "lab/m"\nscorer = "${scorer}"` }), rows);
const SIMULATED = aSpec({ config: 'name = "a"\nmodel = "sim/m"' }).replace(
  /\[lanes.lab\]\n.*/,
  '[lanes.sim]\nfaults = "faults.json"',
);
const withFaults = (faults: string) => ({ ...files(SIMULATED), 'faults.json': faults });
const withOpenAi = (key?: string) => ({
  files: withModel('openai/gpt-5.2'),
  ...(key === undefined ? {} : { environment: { OPENAI_API_KEY: key } }),
});

const aboutTheFile: readonly Mistake[] = [
  {
    name: 'a spec in YAML',
    files: { 'benchmark.yaml': 'providers:\n  - openai:gpt-4o\n' },
    argv: ['run', 'benchmark.yaml'],
    says: [
      'benchmark.yaml: expected TOML, received YAML; write it as TOML: key = value, and [[configs]] above the keys of each config',
    ],
  },
  {
    name: 'JSON in a file named .toml',
    files: { 'benchmark.toml': '{"questions": "q.jsonl"}' },
    says: ['benchmark.toml: expected TOML, received JSON; give it a name that ends in .json'],
  },
  {
    name: 'TOML in a file named .json',
    files: { 'b.json': aSpec() },
    argv: ['run', 'b.json'],
    says: ['b.json: expected JSON, received TOML; give it a name that ends in .toml'],
  },
  {
    name: 'the questions in place of the spec',
    files: { 'questions.jsonl': QUESTION },
    argv: ['run', 'questions.jsonl'],
    says: [
      'questions.jsonl: expected TOML, received a file of questions; name it in a spec: questions = "..."',
    ],
  },
  {
    name: 'a spec in UTF-16, as PowerShell writes it',
    files: { 'benchmark.toml': 'q\u0000u\u0000' },
    says: ['benchmark.toml: expected TOML, received UTF-16 or binary data; save it as UTF-8'],
  },
  {
    name: 'a misspelled name of the spec',
    files: files(aSpec()),
    argv: ['run', 'benchmrk.toml'],
    says: ['<folder>/benchmrk.toml: no such file; did you mean "benchmark.toml"?'],
  },
  {
    name: 'the folder of the spec',
    files: { 'bench/benchmark.toml': aSpec() },
    argv: ['run', 'bench'],
    says: [
      '<folder>/bench: expected a file, received a folder; did you mean "<folder>/bench/benchmark.toml"?',
    ],
  },
  {
    name: 'an empty spec',
    files: { 'benchmark.toml': '' },
    says: [
      'benchmark.toml: questions: expected a file',
      'benchmark.toml: configs: expected a list',
    ],
  },
  {
    name: 'a text without quotation marks',
    files: withConfig('reasoning_effort = high'),
    says: [
      'benchmark.toml: expected TOML (line 8, column 20: invalid value); texts stand between quotation marks',
    ],
  },
  {
    name: 'a path of Windows with single backslashes',
    files: withPath('"C:\\data\\q.jsonl"'),
    says: ['; write the path with "/", or between single quotes'],
  },
  {
    name: 'a key that is there twice',
    files: withConfig('temperature = 0\ntemperature = 1'),
    says: ['benchmark.toml: expected TOML (line 9, column 1: ', '; it is there already'],
  },
];

const aboutKeys: readonly Mistake[] = [
  {
    name: 'a misspelled key',
    files: withConfig('temprature = 0'),
    says: ['configs[0].temprature: unknown key; did you mean "temperature"?'],
  },
  {
    name: 'a parameter of one vendor',
    files: withConfig('top_k = 40'),
    says: ['configs[0].top_k: unknown key; pass it on as it is: extra_body = { top_k = ... }'],
  },
  {
    name: 'system_prompt',
    files: withConfig('system_prompt = "Be brief."'),
    says: ['configs[0].system_prompt: unknown key; did you mean "system"?'],
  },
  {
    name: 'max_completion_tokens',
    files: withConfig('max_completion_tokens = 100'),
    says: ['configs[0].max_completion_tokens: unknown key; did you mean "max_tokens"?'],
  },
  {
    name: 'providers, as promptfoo has them',
    files: withTop('providers = ["openai:gpt-4o"]'),
    says: [
      'benchmark.toml: providers: unknown key; describe each system to test in a [[configs]] table of its own',
    ],
  },
  {
    name: 'epochs, as Inspect has them',
    files: withTop('epochs = 3'),
    says: ['benchmark.toml: epochs: unknown key; did you mean "replicates"?'],
  },
  {
    name: 'concurrency',
    files: withTop('concurrency = 8'),
    says: ['benchmark.toml: concurrency: unknown key; did you mean "parallel"?'],
  },
  {
    name: 'a temperature outside of the configs',
    files: withTop('temperature = 0'),
    says: [
      'benchmark.toml: temperature: unknown key; it belongs to a config: write it below [[configs]]',
    ],
  },
  {
    name: 'a limit outside of select',
    files: withTop('limit = 10'),
    says: ['benchmark.toml: limit: unknown key; write it below [select]'],
  },
  {
    name: 'the address of a lane in a config',
    files: withConfig('base_url = "http://127.0.0.1:9/v1"'),
    says: ['configs[0].base_url: unknown key; it belongs to a lane: write it below [lanes.NAME]'],
  },
  {
    name: 'a time limit in a config',
    files: withConfig('timeout_s = 300'),
    says: [
      'configs[0].timeout_s: unknown key; write timeout_s at the top of the spec, or below [lanes.NAME] for one lane',
    ],
  },
  {
    name: 'the concurrency of a lane in a config',
    files: withConfig('max_concurrency = 4'),
    says: [
      'configs[0].max_concurrency: unknown key; it belongs to a lane: write it below [lanes.NAME]',
    ],
  },
  {
    name: 'replicates in a config',
    files: withConfig('replicates = 3'),
    says: [
      'configs[0].replicates: unknown key; it belongs to the whole benchmark: write it at the top of the spec',
    ],
  },
  {
    name: 'attempts in a lane',
    files: withLane('max_attempts = 2'),
    says: [
      'lanes.lab.max_attempts: unknown key; it belongs to the whole benchmark: write it at the top of the spec',
    ],
  },
  {
    name: 'url for base_url',
    files: withLane('url = "http://127.0.0.1:9/v1"'),
    says: ['lanes.lab.url: unknown key; did you mean "base_url"?'],
  },
  {
    name: 'a timeout without its unit',
    files: withTop('timeout = 60'),
    says: ['benchmark.toml: timeout: unknown key; did you mean "timeout_s"?'],
  },
  {
    name: 'a timeout in milliseconds',
    files: withTop('timeout_s = 120000'),
    says: ['timeout_s: expected seconds, at most 86400 (a day), received 120000'],
  },
  {
    name: '[configs] for [[configs]]',
    files: { 'benchmark.toml': 'questions = "q.jsonl"\n[configs]\nname = "a"\n' },
    says: ['configs: expected a list, received', '; write [[configs]] above each config'],
  },
  {
    name: 'a number between quotation marks',
    files: withConfig('temperature = "0"'),
    says: ['configs[0].temperature: expected a number, received "0"'],
  },
  {
    name: 'a number for stop',
    files: withConfig('stop = 3'),
    says: ['configs[0].stop: expected a text or a list of texts, received 3'],
  },
  {
    name: 'an effort that no vendor has',
    files: withConfig('reasoning_effort = "maximum"'),
    says: ['configs[0].reasoning_effort: expected "none", ', ', received "maximum"'],
  },
  {
    name: 'a solver by another name',
    files: withConfig('solver = "chain_of_thought"'),
    says: ['configs[0].solver: expected one of "direct", "router"', 'received "chain_of_thought"'],
  },
  {
    name: 'a name with a space',
    files: withTop('name = "My Benchmark"'),
    says: [
      'name: expected lower-case letters, digits, "_" and "-", at most 64, received "My Benchmark"',
    ],
  },
  {
    name: 'a tag without a list',
    files: withMore('[select]\ntags = { topic = "algebra" }'),
    says: ['select.tags.topic: expected a list, received "algebra"'],
  },
  {
    name: 'a selection of nothing',
    files: withMore('[select]\ntags = { topic = ["algebra"] }'),
    says: ['select leaves no question: expected at least one'],
  },
  {
    name: 'a price between quotation marks',
    files: withMore('[prices."lab/m"]\ninput = "0.6"\noutput = 1'),
    says: ['prices."lab/m".input: expected a number, received "0.6"'],
  },
];

const aboutMoney: readonly Mistake[] = [
  {
    name: 'a budget between quotation marks',
    files: withTop('budget_usd = "5"'),
    says: ['budget_usd: expected dollars, a number without quotation marks, received "5"'],
  },
  {
    name: 'a budget without its unit',
    files: withTop('budget = 5'),
    says: ['budget: unknown key; did you mean "budget_usd"?'],
  },
  {
    name: 'a limit of cost, as Inspect has it',
    files: withTop('cost_limit = 5'),
    says: ['cost_limit: unknown key; did you mean "budget_usd"?'],
  },
  {
    name: 'a budget of a config',
    files: withConfig('budget_usd = 5'),
    says: [
      'configs[0].budget_usd: unknown key; write budget_usd at the top of the spec, or below [lanes.NAME] for one lane',
    ],
  },
  {
    name: 'a budget for a model without a price',
    files: withTop('budget_usd = 5'),
    says: [
      'configs[0].model: expected a price of the model under a budget, received none; add [prices."lab/m"]',
    ],
  },
  {
    name: 'a budget with a sign',
    argv: ['run', 'benchmark.toml', '--budget-usd', '$5'],
    says: ["argument '$5' is invalid. Expected dollars", 'as in 12.50'],
  },
  {
    name: 'an option for the cost by another name',
    argv: ['run', 'benchmark.toml', '--max-cost', '5'],
    says: ["unknown option '--max-cost' (Did you mean --budget-usd?)"],
  },
  {
    name: 'a price of a model without its lane',
    files: withMore('[prices."gpt-5"]\ninput = 1\noutput = 2'),
    says: ['prices.gpt-5: expected lane/model, as in openai/gpt-5.2'],
  },
  {
    name: 'a price whose name has no quotation marks',
    files: withMore('[prices.lab.m]\ninput = 1\noutput = 2'),
    says: ['prices.lab: expected lane/model, as in openai/gpt-5.2'],
  },
  {
    name: 'a price in a config',
    files: withConfig('price = { input = 1, output = 2 }'),
    says: [
      'configs[0].price: unknown key; write it below [prices."lane/model"], for all configs of that model',
    ],
  },
  {
    name: 'a price of prompt and completion',
    files: withMore('[prices."lab/m"]\nprompt = 1\ncompletion = 2'),
    says: ['prompt: unknown key; did you mean "input"?', 'did you mean "output"?'],
  },
  {
    name: 'a price of a batch in percent',
    files: withMore('[prices."lab/m"]\ninput = 1\noutput = 2\nbatch = "50%"'),
    says: ['batch: expected a factor, as in 0.5, or a table with input and output, received "50%"'],
  },
  {
    name: 'a rate limit in a config',
    files: withConfig('rpm = 60'),
    says: ['configs[0].rpm: unknown key; it belongs to a lane: write it below [lanes.NAME]'],
  },
  {
    name: 'a rate limit in words',
    files: withLane('requests_per_minute = 60'),
    says: ['lanes.lab.requests_per_minute: unknown key; did you mean "rpm"?'],
  },
  {
    name: 'batches of a config',
    files: withConfig('batch = true'),
    says: ['configs[0].batch: unknown key; it belongs to a lane: write it below [lanes.NAME]'],
  },
  {
    name: 'batches as an option',
    argv: ['run', 'benchmark.toml', '--batch'],
    says: ["unknown option '--batch' (it is a key of a lane: batch = true below [lanes.NAME])"],
  },
  {
    name: 'a pilot of nothing',
    argv: ['estimate', 'benchmark.toml', '--pilot', '0'],
    says: ["argument '0' is invalid. Expected a whole number, 1..100000."],
  },
  {
    name: 'a pilot of a run',
    argv: ['run', 'benchmark.toml', '--pilot', '3'],
    says: ["unknown option '--pilot' (it is an option of thrice estimate SPEC)"],
  },
  {
    name: 'a trial run',
    argv: ['run', 'benchmark.toml', '--dry-run'],
    says: ["unknown option '--dry-run' (thrice estimate SPEC calls nothing"],
  },
];

const aboutWebhooks: readonly Mistake[] = [
  {
    name: 'the URL of a webhook in place of the table',
    files: withTop('notify = "https://hooks.slack.com/services/T0/B0/sk-0123456789"'),
    says: [
      'notify: expected a table, as in { webhook_env = "THRICE_WEBHOOK" }, received a text that is not shown: it may be a key',
    ],
  },
  {
    name: 'the URL of a webhook in the spec',
    files: withMore('[notify]\nurl = "https://hooks.slack.com/services/T0/B0/sk-0123456789"'),
    says: [
      'notify.url: unknown key; the URL is a secret: name the environment variable that has it, as in webhook_env = "THRICE_WEBHOOK"',
    ],
  },
  {
    name: 'an event by another name',
    files: withMore('[notify]\nwebhook_env = "THRICE_WEBHOOK"\non = ["failures"]'),
    says: ['notify.on[0]: expected "end", ', 'did you mean "failure"?'],
  },
  {
    name: 'no URL in the variable of a webhook',
    files: withMore('[notify]\nwebhook_env = "THRICE_WEBHOOK"'),
    exitCode: 69,
    says: ['notify: expected a value in THRICE_WEBHOOK, found none'],
  },
  {
    name: 'a webhook without its scheme',
    files: withMore('[notify]\nwebhook_env = "THRICE_WEBHOOK"'),
    environment: { THRICE_WEBHOOK: 'hooks.slack.com/services/T0/B0/sk-0123456789' },
    exitCode: 69,
    says: [
      'notify: expected an http or https URL in THRICE_WEBHOOK, received a text that is not shown: it may be a secret',
    ],
  },
  {
    name: 'a webhook in the command line',
    argv: ['run', 'benchmark.toml', '--webhook', 'https://example.com/hook'],
    says: ["unknown option '--webhook' (write it into the spec: [notify] with webhook_env"],
  },
];

const withSolver = (lines: string) => files(aSpec({ config: `name = "a"\n${lines}` }));

const aboutSolvers: readonly Mistake[] = [
  {
    name: 'a fallback, as gateways have it',
    files: withConfig('fallback = ["lab/n"]'),
    says: [
      'configs[0].fallback: unknown key; list the models in their order: solver = "router", models = [...], fail_over = true',
    ],
  },
  {
    name: 'a list of models without its solver',
    files: withSolver('models = ["lab/m", "lab/n"]'),
    says: [
      'models: expected none with solver = "direct", received one; it is for solver = "router"',
    ],
  },
  {
    name: 'the same model twice in a router',
    files: withSolver('solver = "router"\nmodels = ["lab/m", "lab/m"]\nfail_over = true'),
    says: ['configs[0].models[1]: "lab/m" is models[0] already'],
  },
  {
    name: 'a router that fails over to nothing',
    files: withSolver('solver = "router"\nmodels = ["lab/m"]\nfail_over = true'),
    says: ['configs[0].models: expected at least two with fail_over = true, received one'],
  },
  {
    name: 'a cascade of configs',
    files: withSolver(
      'solver = "cascade"\nmembers = [{ config = "a" }, { model = "lab/m" }]\nescalate = { model = "lab/n" }',
    ),
    says: [
      'configs[0].members[0].config: unknown key; it is a model here, asked as this config says: model = "lane/model"',
    ],
  },
  {
    name: 'a cascade that escalates to nothing',
    files: withSolver('solver = "cascade"\nmembers = [{ model = "lab/m" }, { model = "lab/n" }]'),
    says: ['configs[0].escalate: expected a table with a model, received nothing'],
  },
  {
    name: 'a vote without its samples',
    files: withSolver('solver = "vote"\nmodel = "lab/m"'),
    says: ['configs[0].samples: expected how often to ask the model, at least 2'],
  },
  {
    name: 'a protocol by the name of its vendor',
    files: withLane('protocol = "openai"'),
    says: ['lanes.lab.protocol: expected "chat" (/chat/completions), ', ', received "openai"'],
  },
  {
    name: '[[lanes]] for [lanes.NAME]',
    files: {
      'benchmark.toml': 'questions = "q.jsonl"\n[[lanes]]\nname = "lab"\n[[configs]]\nname = "a"\n',
    },
    says: ['lanes: expected a table, received ', '; write [lanes.NAME] above each lane'],
  },
];

const aboutReuse: readonly Mistake[] = [
  {
    name: 'shared calls of a config',
    files: withConfig('share_calls = true'),
    says: [
      'configs[0].share_calls: unknown key; it belongs to the whole benchmark: write it at the top of the spec',
    ],
  },
  {
    name: 'a cache in the spec',
    files: withTop('cache = true'),
    says: ['cache: unknown key; it is an option of a command: thrice run SPEC --reuse GROUP'],
  },
  {
    name: 'waiting for quotas in the spec',
    files: withTop('wait_for_quota = true'),
    says: ['it is an option of a command: thrice run SPEC --wait-for-quota'],
  },
  {
    name: '--reuse before the spec',
    argv: ['run', '--reuse', 'earlier', 'benchmark.toml'],
    says: [
      "missing required argument 'spec' (--reuse takes all names after it: write the spec before it)",
    ],
  },
  {
    name: '--reuse with commas and a misspelled name',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--reuse', 'earlier,other'],
    says: ['"earlier": no group has this name, prefix or label'],
  },
  {
    name: '--pilot with --stage',
    argv: ['estimate', 'benchmark.toml', '--pilot', '3', '--stage', 'dev'],
    says: ['--pilot: expected an estimate without --stage, received --stage; run the first cells'],
  },
  {
    name: '--reuse with --fresh',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--reuse', 'earlier', '--fresh'],
    says: ['--reuse: expected either --reuse or --fresh, received both'],
  },
  {
    name: 'the file of keys as an option',
    files: { ...files(aSpec()), '.env': 'LAB_KEY=x\n' },
    argv: ['run', 'benchmark.toml', '--env-file', '.env'],
    says: ["unknown option '--env-file' (.env of the working folder is read without it)"],
  },
];

const aboutModels: readonly Mistake[] = [
  {
    name: 'a model as promptfoo names it',
    files: withModel('openai:gpt-4o'),
    says: [
      'configs[0].model: expected lane/model with a lower-case lane, as in openai/gpt-4o, received "openai:gpt-4o"',
    ],
  },
  {
    name: 'a lane with capitals',
    files: withModel('OpenAI/gpt-5'),
    says: [
      'expected lane/model with a lower-case lane, as in openai/gpt-5, received "OpenAI/gpt-5"',
    ],
  },
  {
    name: 'a model without its lane',
    files: withModel('gpt-5.2'),
    says: ['configs[0].model: expected lane/model, as in openai/gpt-5.2, received "gpt-5.2"'],
  },
  {
    name: 'a misspelled lane',
    files: withModel('opnai/gpt-5.2'),
    says: ['configs[0].model: unknown lane "opnai"; did you mean "openai"?'],
  },
  {
    name: 'an address without its scheme',
    files: withUrl('localhost:8000/v1'),
    says: ['lanes.lab.base_url: expected an http or https URL, as in http://127.0.0.1:8000/v1'],
  },
  {
    name: 'the address of a call',
    files: withUrl('http://127.0.0.1:9/v1/chat/completions'),
    says: [
      'lanes.lab.base_url: expected the address before the path of a call, as in http://127.0.0.1:9/v1, received http://127.0.0.1:9/v1/chat/completions',
    ],
  },
  {
    name: 'http for https',
    files: withUrl('http://api.openai.com/v1'),
    says: [
      'lanes.lab.base_url: expected https, received http://api.openai.com/v1: the key would be sent unencrypted',
    ],
  },
  {
    name: 'a key in the spec',
    files: withLane('api_key = "sk-0123456789abcdefghij"'),
    says: [
      'lanes.lab.api_key: unknown key; keys are never in a spec: name the environment variable that has it, as in api_key_env = "LAB_API_KEY"',
    ],
  },
  {
    name: 'a variable as a shell has it',
    files: withLane('api_key_env = "$LAB_KEY"'),
    says: [
      'lanes.lab.api_key_env: expected the name of an environment variable, as in LAB_API_KEY, never a key',
    ],
  },
  {
    name: 'no key',
    ...withOpenAi(),
    exitCode: 69,
    says: [
      'config "a": expected a key in OPENAI_API_KEY, found none',
      'skip such configs with --skip-missing-keys',
    ],
  },
  {
    name: 'a key of blanks',
    ...withOpenAi('  \n'),
    exitCode: 69,
    says: ['config "a": expected a key in OPENAI_API_KEY, found none'],
  },
  {
    name: 'a key between quotation marks',
    ...withOpenAi('"sk-0123456789"'),
    exitCode: 69,
    says: [
      'lane "openai": expected a key in OPENAI_API_KEY, received a text between quotation marks; leave them out',
    ],
  },
  {
    name: 'a key with "Bearer"',
    ...withOpenAi('Bearer sk-0123456789'),
    exitCode: 69,
    says: ['received a text that begins with "Bearer"; leave that out'],
  },
  {
    name: 'two keys in a variable',
    ...withOpenAi('sk-0123456789\nsk-9876543210\n'),
    exitCode: 69,
    says: ['received a text with white space inside; set the key alone'],
  },
];

const aboutPromptsAndScorers: readonly Mistake[] = [
  {
    name: 'a field between single braces',
    files: withConfig('prompt = "Q: {question}"'),
    says: [
      'configs[0].prompt: expected {{question}}, received {question}, which is sent as it is; write two braces',
    ],
  },
  {
    name: 'a field by the name of another tool',
    files: withConfig('prompt = "Q: {{input}}"'),
    says: ['configs[0].prompt: unknown field {{input}}; did you mean {{question}}?'],
  },
  {
    name: 'a misspelled field',
    files: withConfig('prompt = "Q: {{qestion}}"'),
    says: ['configs[0].prompt: unknown field {{qestion}}; did you mean {{question}}?'],
  },
  {
    name: 'a prompt without a field',
    files: withConfig('prompt = "Answer."'),
    says: [
      'configs[0].prompt: expected {{question}} or {{messages}}, received a template with neither',
    ],
  },
  {
    name: 'a prompt file that is not there',
    files: withConfig('prompt_file = "prompt.txt"'),
    says: ['configs[0].prompt_file: <folder>/prompt.txt: no such file'],
  },
  {
    name: 'a scorer without its table',
    files: withScorer('"quality"'),
    says: [
      'configs[0].scorer: unknown scorer "quality" (expected ',
      ', or the name of a [scorers.NAME] table)',
    ],
  },
  {
    name: 'a kind of scorer that needs parameters',
    files: withScorer('"regex"'),
    says: [
      'configs[0].scorer: expected the name of a [scorers.NAME] table for "regex", received the kind alone; write [scorers.mine] with kind = "regex" and its parameters, then scorer = "mine"',
    ],
  },
  {
    name: 'a scorer inside of its config',
    files: withScorer('{ kind = "numeric" }'),
    says: ['configs[0].scorer: expected a text, received {"kind":"numeric"}'],
  },
  {
    name: 'a scorer of a misspelled kind',
    files: withMore('[scorers.close]\nkind = "numerical"'),
    says: ['scorers.close.kind: expected "exact"', 'received "numerical"; did you mean "numeric"?'],
  },
];

const aboutQuestions: readonly Mistake[] = [
  {
    name: 'no questions at the path',
    files: withPath('"data/questions.jsonl"'),
    says: ['<folder>/data/questions.jsonl: no such file'],
  },
  {
    name: 'a path in the home folder',
    files: withPath('"~/questions.jsonl"'),
    says: ['questions.jsonl: no such file; "~" is not expanded here: write the whole path'],
  },
  {
    name: 'a pattern of paths',
    files: withPath('"*.jsonl"'),
    says: [
      'no such file; patterns are not expanded here: write a list, as in ["a.jsonl", "b.jsonl"]',
    ],
  },
  {
    name: 'the address of a page',
    files: withPath('"https://example.com/q.jsonl"'),
    says: ['expected a file on this disk or hf://datasets/..., received another address'],
  },
  {
    name: 'a dataset of Hugging Face without its kind',
    files: withPath('"hf://openai/gsm8k"'),
    says: ['openai/gsm8k: '],
  },
  {
    name: 'a misspelled name of a dataset',
    files: withPath('{ dataset = "gsm-8k", path = "gsm8k" }'),
    says: [
      'questions.dataset: expected a dataset of this version (',
      'received "gsm-8k"; did you mean "gsm8k"?',
    ],
  },
  {
    name: 'a misspelled key beside the name of a dataset',
    files: withPath('{ dataset = "gsm8k", folder = "gsm8k" }'),
    says: ['questions.folder: unknown key (expected dataset, path, subset, split)'],
  },
  {
    name: 'a path of Windows',
    files: withPath("'C:\\data\\q.jsonl'"),
    says: ['no such file; this is a path of Windows, and this is not Windows'],
  },
  {
    name: 'an empty file of questions',
    files: withRows(''),
    says: ['<folder>/questions.jsonl: expected at least one question, received none'],
  },
  {
    name: 'an id that is there twice',
    files: withRows(QUESTION + QUESTION),
    says: ['questions.jsonl:2: id: "q1" is the id of <folder>/questions.jsonl:1 already'],
  },
  {
    name: 'a table with tabs for JSON lines',
    files: withRows('id\tquestion\ttarget\nq1\t1 + 1?\t2\n'),
    says: ['questions.jsonl:1: expected JSON (', '; this is a line with tabs, as of TSV'],
  },
  {
    name: 'a table with commas for JSON lines',
    files: withRows('id,question,target\nq1,1 + 1?,2\n'),
    says: ['questions.jsonl:1: expected JSON (', '; this is a line with commas, as of CSV'],
  },
  {
    name: 'rows as Python prints them',
    files: withRows("{'id': 'q1', 'question': '1 + 1?'}\n"),
    says: ['; this is how Python prints it: write it with json.dumps)'],
  },
  {
    name: 'a NaN of pandas',
    files: withRows('{"id": "q1", "question": "1 + 1?", "target": NaN}\n'),
    says: ['questions.jsonl:1: expected JSON (', '; JSON has no such number: write null)'],
  },
  {
    name: 'a row over several lines',
    files: withRows('{\n  "id": "q1",\n  "question": "1 + 1?"\n}\n'),
    says: ['; a line has a whole question, or the file is one JSON array)'],
  },
  {
    name: 'a misspelled field of a row',
    files: withRows('{"id": "q1", "qestion": "1 + 1?"}\n'),
    says: ['received neither; did you mean "question"?'],
  },
  {
    name: 'a role of another tool',
    files: withRows('{"id": "q1", "messages": [{"role": "human", "content": "1 + 1?"}]}\n'),
    says: ['messages[0].role: expected "system", "user" or "assistant", received "human"'],
  },
  {
    name: 'an empty question',
    files: withRows('{"id": "q1", "question": " ", "target": "2"}\n'),
    says: ['questions.jsonl:1: question: expected a text, received an empty one'],
  },
  {
    name: 'questions without targets',
    files: withRows('{"id": "q1", "question": "1 + 1?"}\n'),
    says: ['expected questions with a target for the scorer "exact" of config "a", received none'],
  },
  {
    name: 'targets in a column of another name',
    files: withRows('{"question": "1 + 1?", "__expected": "2"}\n'),
    says: [
      'received none; every answer would be ungraded. Add a target (or answer, correct_answer) to the questions, or say in [columns] which column has it, as in target = "__expected"',
    ],
  },
  {
    name: 'a copy of GSM8K as it is, whose answers are worked out',
    files: withRows(
      [1, 2, 3]
        .map(
          (id) =>
            `${JSON.stringify({ question: `${id} + 1?`, answer: `It is <<${id}+1=${id + 1}>>.\n#### ${id + 1}` })}\n`,
        )
        .join(''),
      'numeric',
    ),
    says: [
      'target: expected one number and nothing else, received "It is <<1+1=2>>.\\n#### 2", and no better one in 3 questions; if the file is a copy of a dataset, write it as one, as in questions = { dataset = "gsm8k", path = "..." }; if not, say in [columns]',
    ],
  },
  {
    name: 'the index of a choice',
    files: withRows(
      '{"id": "q1", "question": "1 + 1?", "choices": ["1", "two"], "target": 9}\n',
      'choice',
    ),
    says: ['question "q1": target: expected a letter of A to B or a choice\'s text, received "9"'],
  },
];

const aboutTheSimulator: readonly Mistake[] = [
  {
    name: 'faults without their kind',
    files: withFaults('{ "seed": 1, "faults": [{ "rate": 0.1 }] }'),
    says: ['faults.json: faults[0].kind: expected "rate-limit", ', ', received nothing'],
  },
  {
    name: 'a misspelled kind of faults',
    files: withFaults('{ "seed": 1, "faults": [{ "kind": "rate_limit" }] }'),
    says: ['received "rate_limit"; did you mean "rate-limit"?'],
  },
  {
    name: 'faults that stand alone',
    files: withFaults('[{ "kind": "hang" }]'),
    says: ['faults.json: the document: expected a table, received [{"kind":"hang"}]'],
  },
  {
    name: 'faults that are not there',
    files: { 'benchmark.toml': SIMULATED, 'questions.jsonl': QUESTION },
    says: ['<folder>/faults.json: no such file'],
  },
];

const aboutCommands: readonly Mistake[] = [
  {
    name: 'run alone',
    argv: ['run'],
    says: [
      "missing required argument 'spec' (as in thrice run benchmark.toml; thrice init writes one to start from)",
    ],
  },
  {
    name: 'a misspelled command',
    argv: ['sumarize'],
    says: ["unknown command 'sumarize'", '(Did you mean summarize?)'],
  },
  {
    name: 'a command of promptfoo',
    argv: ['view'],
    says: ["unknown command 'view'", '(Did you mean summarize?)'],
  },
  {
    name: 'a misspelled option',
    argv: ['run', 'benchmark.toml', '--replicate', '3'],
    says: ["unknown option '--replicate'", '(Did you mean --replicates?)'],
  },
  {
    name: 'an option of another tool',
    argv: ['run', 'benchmark.toml', '--max-concurrency', '3'],
    says: ["unknown option '--max-concurrency'", '(Did you mean --parallel?)'],
  },
  {
    name: 'a file for the results, as promptfoo has it',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '-o', 'out.json'],
    says: ["unknown option '-o' (redirect it, as in thrice summarize --csv > results.csv)"],
  },
  {
    name: 'a cache, as promptfoo has it',
    argv: ['cache', 'clear'],
    says: ["unknown command 'cache' (there is none; thrice run --reuse GROUP takes the calls"],
  },
  {
    name: 'no cache, as promptfoo has it',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--no-cache'],
    says: ["unknown option '--no-cache' (there is no cache; only --reuse"],
  },
  {
    name: 'a limit of nothing',
    argv: ['run', 'benchmark.toml', '--limit', '0'],
    says: ["argument '0' is invalid. Expected a whole number, 1..999999999."],
  },
  {
    name: 'a config that the spec does not have',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--configs', 'b'],
    says: ['--configs: unknown config "b" (expected a)'],
  },
  {
    name: 'a label with a space',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--label', 'first run'],
    says: ['--label: expected letters, digits, "_", "." and "-", at most 64, received "first run"'],
  },
  {
    name: 'status in the wrong folder',
    argv: ['status'],
    says: [
      '<folder>/.thrice: expected runs, found none; start one with "thrice run SPEC", or name another folder with --dir',
    ],
  },
  {
    name: 'a folder that cannot be written',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--dir', '/sys/thrice'],
    exitCode: 69,
    says: ['/sys/thrice: cannot be created (', 'choose another folder with --dir'],
  },
  {
    name: 'a folder below /proc, where Node would wait forever',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--dir', '/proc/thrice/runs'],
    exitCode: 69,
    says: ['/proc/thrice/runs: cannot be created (', 'choose another folder with --dir'],
  },
  {
    name: 'init below /proc',
    argv: ['init', '/proc/thrice'],
    says: ['/proc/thrice: expected a folder that can be written ('],
  },
  {
    name: 'a file for the folder of the runs',
    files: files(aSpec()),
    argv: ['run', 'benchmark.toml', '--dir', 'questions.jsonl'],
    exitCode: 69,
    says: ['<folder>/questions.jsonl: cannot be created (', 'choose another folder with --dir'],
  },
  {
    name: 'a stage that cannot exist',
    argv: ['status', '--stage', 'my stage'],
    says: ['--stage: expected letters, digits and "-", at most 64, received "my stage"'],
  },
  {
    name: 'the DLQ without a stage',
    argv: ['dlq', 'ls'],
    says: ['--stage: expected the name of a deployed stage, received none'],
  },
  {
    name: 'another limit of a group without its spec',
    argv: ['resume', 'demo', '--limit', '10'],
    says: ['--limit: expected it with --spec', 'add --spec FILE, or leave it out'],
  },
  {
    name: 'rerun without what to rerun',
    argv: ['rerun', 'demo-r1'],
    says: ["required option '--failed' not specified"],
  },
];

const mistakes = [
  ...aboutTheFile,
  ...aboutKeys,
  ...aboutMoney,
  ...aboutWebhooks,
  ...aboutSolvers,
  ...aboutReuse,
  ...aboutModels,
  ...aboutPromptsAndScorers,
  ...aboutQuestions,
  ...aboutTheSimulator,
  ...aboutCommands,
];

describe('a first mistake', () => {
  it('is one of at least sixty', () => {
    expect(new Set(mistakes.map(({ name }) => name)).size).toBe(mistakes.length);
    expect(mistakes.length).toBeGreaterThanOrEqual(60);
  });

  it.each(mistakes)(
    'is explained: $name',
    async ({ argv, environment, exitCode, says, ...own }) => {
      await using folder = await temporaryFolder(own.files ?? {});

      const outcome = await callThrice(argv ?? ['run', 'benchmark.toml'], {
        cwd: folder.path,
        ...(environment === undefined ? {} : { environment }),
      });

      const stderr = outcome.stderr.replaceAll(folder.path, '<folder>');
      expect({ exitCode: outcome.exitCode, stdout: outcome.stdout }).toEqual({
        exitCode: exitCode ?? 64,
        stdout: '',
      });
      for (const text of says) expect(stderr).toContain(text);
      expect(stderr).not.toContain('sk-');
    },
  );
});

describe('a habit that does no harm', () => {
  /** Everything is accepted up to the questions, whose only row has no question. */
  it.each<[string, Readonly<Record<string, string>>]>([
    ['a byte order mark in the spec', files(`\uFEFF${aSpec()}`, '{"id": "q1"}\n')],
    ['a byte order mark in the questions', files(aSpec(), '\uFEFF{"id": "q1"}\n')],
    ['line ends of Windows', files(aSpec().replaceAll('\n', '\r\n'), '{"id": "q1"}\r\n')],
    ['blank lines between questions', files(aSpec(), '{"id": "q1"}\n\n\n')],
  ])('is accepted: %s', async (_, own) => {
    await using folder = await temporaryFolder(own);

    const { stderr } = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });

    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringContaining('questions.jsonl:1: question: expected a question or messages'),
    ]);
  });

  it('is accepted: a key with a line end', async () => {
    const { files: own, environment } = withOpenAi('sk-0123456789\n');
    await using folder = await temporaryFolder({ ...own, 'questions.jsonl': '{"id": "q1"}\n' });

    const { stderr } = await callThrice(['run', 'benchmark.toml'], {
      cwd: folder.path,
      ...(environment === undefined ? {} : { environment }),
    });

    expect(stderr).toContain('questions.jsonl:1: question: expected');
    expect(stderr).not.toContain('OPENAI_API_KEY');
  });
});

describe('a mistake with a group', () => {
  it.each<[string, readonly string[], string]>([
    [
      'a misspelled name',
      ['status', 'dmeo'],
      '"dmeo": no group has this name, prefix or label; did you mean "demo"?',
    ],
    [
      'a spec in place of a group',
      ['resume', 'benchmark.toml'],
      '"thrice ls" lists all groups; "thrice run benchmark.toml" starts one',
    ],
    ['a run in place of its group', ['resume', 'demo-r1'], '"demo-r1": no group has this name'],
    [
      'an edited spec that is not there',
      ['resume', 'demo', '--spec', 'new.toml'],
      '<folder>/new.toml: no such file',
    ],
    [
      'a deletion that nobody can confirm',
      ['delete', 'demo'],
      '--yes: expected it where nobody can be asked',
    ],
    [
      'a name and --latest',
      ['summarize', 'demo', '--latest'],
      'received both: "demo" and --latest; leave one of them out',
    ],
    [
      'a tag that no question has',
      ['summarize', 'demo', '--by', 'topic'],
      '--by: unknown tag "topic"',
    ],
  ])('is explained: %s', async (_, argv, text) => {
    await using folder = await temporaryFolder({
      '.thrice/questions/abc.jsonl': '{"id":"q1","target":null,"tags":{}}\n',
    });
    using engine = new LocalEngine(join(folder.path, '.thrice'));
    await engine.ledger.createGroup(aGroupHeader());

    const { exitCode, stderr } = await callThrice(argv, { cwd: folder.path });

    expect(exitCode).toBe(64);
    expect(stderr.replaceAll(folder.path, '<folder>')).toContain(text);
  });
});
