import { type ModelRequest, requestOf } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { describeMessage } from '../../../packages/models/src/anthropic/message-request.ts';
import { describeCompletion } from '../../../packages/models/src/chat/chat-request.ts';
import { describeResponse } from '../../../packages/models/src/responses/responses-request.ts';
import { aConfig, aModelRequest } from '../../support/builders.ts';

const schema = {
  type: 'object',
  properties: {
    answer: { type: 'string' },
    confidence: { type: 'number', description: 'from 0 to 1' },
  },
  required: ['answer', 'confidence'],
  additionalProperties: false,
};
const name = 'answer_with_confidence';

/** A request for an answer with its confidence, as a solver makes it. */
function aConfidentRequest(parts: Partial<ModelRequest> = {}): ModelRequest {
  const { outputSchema } = requestOf(aConfig({ confidence: 'structured' }), []);
  return aModelRequest({ outputSchema, ...parts });
}

/**
 * The fields are those of the types of the `openai` package 7.55.0 (`ResponseFormatJSONSchema`,
 * `ResponseFormatTextJSONSchemaConfig`) and of https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 * (2026-11), which replaced `output_format`: https://github.com/prism-php/prism/issues/912 (2026-02).
 */
describe('the form of an output is asked for', () => {
  it('in response_format over chat completions', () => {
    expect(describeCompletion(aConfidentRequest())).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } },
    });
  });

  it('in text.format over responses, beside what extra_body has there', () => {
    const request = aConfidentRequest({ extraBody: { text: { verbosity: 'low' } } });

    expect(describeResponse(aConfidentRequest())).toMatchObject({
      text: { format: { type: 'json_schema', name, schema, strict: true } },
    });
    expect(describeResponse(request)).toMatchObject({ text: { verbosity: 'low' } });
  });

  it('in output_config.format over messages, beside the effort', () => {
    const format = { type: 'json_schema', schema };

    expect(describeMessage(aConfidentRequest())).toMatchObject({ output_config: { format } });
    expect(describeMessage(aConfidentRequest({ reasoningEffort: 'low' }))).toMatchObject({
      output_config: { effort: 'low', format },
    });
  });

  it.each([
    ['chat', describeCompletion],
    ['responses', describeResponse],
    ['anthropic', describeMessage],
  ])('only where it is asked for (%s)', (_, describeBody) => {
    const body = describeBody(aModelRequest());

    expect(Object.keys(body)).not.toContain('response_format');
    expect(Object.keys(body)).not.toContain('text');
    expect(Object.keys(body)).not.toContain('output_config');
  });

  // Anthropic: https://github.com/openstory-so/openstory/pull/306 (2025-12).
  it('without bounds of numbers, which a vendor refuses', () => {
    expect(JSON.stringify(aConfidentRequest().outputSchema)).not.toMatch(/minimum|maximum/);
  });
});
