// Vercel's ai with its providers of OpenAI (Responses), of servers with OpenAI's API, and of Anthropic.
import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Output, generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { aborted, key, picture, row, url } from './common.mjs'

const providers = [
  createOpenAI({ baseURL: url + '/v1', apiKey: key }),
  createOpenAICompatible({ name: 'etui', baseURL: url + '/v1', apiKey: key, supportsStructuredOutputs: true }),
  createAnthropic({ baseURL: url + '/v1', apiKey: key }),
]
const weather = tool({ description: 'weather of a city', inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => 'sunny in ' + city })
const each = async (f) => { for (const p of providers) await f(p) }
const more = { maxRetries: 0, stopWhen: stepCountIs(5) }

await row('plain', () => each(async (p) => {
  assert.equal((await generateText({ model: p('plain'), prompt: 'hi', ...more })).text, 'Hello from the script.')
}))
await row('stream', () => each(async (p) => {
  let text = ''
  for await (const piece of streamText({ model: p('plain'), prompt: 'hi', ...more }).textStream) text += piece
  assert.equal(text, 'Hello from the script.')
}))
await row('tools', () => each(async (p) => {
  assert.match((await generateText({ model: p('weather'), prompt: 'weather?', tools: { weather }, ...more })).text, /sunny/)
  assert.match(await streamText({ model: p('weather'), prompt: 'weather?', tools: { weather }, ...more }).text, /sunny/)
}))
await row('parallel', () => each(async (p) => {
  const r = await generateText({ model: p('parallel'), prompt: 'weather?', tools: { weather }, ...more })
  assert.equal(r.steps[0].toolCalls.length, 2)
  assert.match(r.text, /sunny/)
}))
await row('structured', () => each(async (p) => {
  const output = Output.object({ schema: z.object({ name: z.string(), age: z.number() }) })
  assert.deepEqual((await generateText({ model: p('json'), prompt: 'who?', output, ...more })).output, { name: 'Ann', age: 30 })
}))
await row('pictures', () => each(async (p) => {
  const content = [{ type: 'text', text: 'what is it?' }, { type: 'image', image: 'data:image/png;base64,' + picture }]
  assert.equal((await generateText({ model: p('picture'), messages: [{ role: 'user', content }], ...more })).text, 'pictures: 1')
}))
await row('abort', () => each(async (p) => {
  const stop = new AbortController()
  const result = streamText({ model: p('slow'), prompt: 'hi', abortSignal: stop.signal, onError: () => {}, ...more })
  for await (const part of result.fullStream) if (part.type === 'text-delta') stop.abort()
  await aborted()
}))
await row('errors', () => each(async (p) => {
  await assert.rejects(generateText({ model: p('plian'), prompt: 'hi', ...more }), (e) => e.statusCode === 404 && /did you mean/.test(e.message))
}))
