/** The spec that `thrice init` writes: every line says what it is for. */
export const starterSpec = `# A benchmark. Every question is asked under every config; the table compares the configs.
#
#   thrice run benchmark.toml         runs it: no key is needed, the models are simulated
#   thrice summarize --latest         prints the table again
#   thrice doctor benchmark.toml      checks spec, questions, keys and models; calls each model once
#   thrice schema                     prints every key of this file, as JSON Schema
#
# To ask a real model: change one \`model\` below, and put its key into .env, as .env.example shows.

name = "my-benchmark"              # how the names of its groups begin
questions = "questions.jsonl"      # one JSON object per line: id, question, choices, target, tags
replicates = 3                     # asks everything three times, to see how much the answers vary
parallel = 8                       # at most 8 calls at a time
# budget_usd = 5.0                 # never spends more; each config then needs max_tokens

# A lane is a provider account. These are built in, each with the variable that holds its key:
#   openai OPENAI_API_KEY    anthropic ANTHROPIC_API_KEY    gemini GEMINI_API_KEY    kimi KIMI_API_KEY
#   deepseek DEEPSEEK_API_KEY    grok GROK_API_KEY    mistral MISTRAL_API_KEY
# Lane "sim" is a server of simulated models, which Thrice starts by itself.
[lanes.sim]
behaviour = "simulated-models.json"     # how often each simulated model is right, and how fast it answers

# A server of your own that speaks OpenAI's protocol (vLLM, llama.cpp, Ollama, a proxy) is a lane too:
# [lanes.lab]
# base_url = "http://127.0.0.1:8000/v1"
# api_key_env = "LAB_API_KEY"           # leave it out if the server needs no key

# What tokens cost, USD per million. The vendors' prices are built in; any other model without a price has an
# unknown cost, not 0.
[prices."sim/small"]
input = 0.10
output = 0.40

[prices."sim/large"]
input = 2.00
output = 8.00

# A config is what is compared: a model, a prompt, a scorer.
[[configs]]
name = "small"                     # its row in the table
model = "sim/small"                # LANE/MODEL. A real one: model = "openai/gpt-5-mini"
scorer = "choice"                  # reads which choice the answer settles on; others: exact numeric includes regex
prompt = """
{{question}}

{{choices}}

Reason briefly. End with one line such as "Answer: B"."""

[[configs]]
name = "large"
model = "sim/large"
scorer = "choice"
prompt = """
{{question}}

{{choices}}

Reason briefly. End with one line such as "Answer: B"."""
# More keys of a config: system, temperature, max_tokens, reasoning_effort, select, extra_body.
`;
