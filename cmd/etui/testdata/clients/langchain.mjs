import assert from 'node:assert/strict'
import { tool } from '@langchain/core/tools'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { aborted, key, picture, row, url } from './common.mjs'

const model = (name, more = {}) => new ChatOpenAI({ model: name, apiKey: key, configuration: { baseURL: url + '/v1' }, maxRetries: 0, ...more })
const ways = [{}, { useResponsesApi: true }]
const weather = tool(({ city }) => 'sunny in ' + city, { name: 'weather', description: 'weather of a city', schema: z.object({ city: z.string() }) })
const ask = async (name, more) => (await createReactAgent({ llm: model(name, more), tools: [weather] }).invoke({ messages: [{ role: 'user', content: 'weather?' }] })).messages.at(-1).text

await row('plain', async () => { for (const w of ways) assert.equal((await model('plain', w).invoke('hi')).text, 'Hello from the script.') })
await row('stream', async () => {
  for (const w of ways) {
    let text = ''
    for await (const piece of await model('plain', w).stream('hi')) text += piece.text
    assert.equal(text, 'Hello from the script.')
  }
})
await row('tools', async () => { for (const w of ways) assert.match(await ask('weather', w), /sunny/) })
await row('parallel', async () => { for (const w of ways) assert.match(await ask('parallel', w), /sunny/) })
await row('structured', async () => {
  const schema = z.object({ name: z.string(), age: z.number() })
  assert.deepEqual(await model('json').withStructuredOutput(schema, { method: 'jsonSchema', name: 'person' }).invoke('who?'), { name: 'Ann', age: 30 })
})
await row('pictures', async () => {
  const content = [{ type: 'text', text: 'what is it?' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,' + picture } }]
  assert.equal((await model('picture').invoke([{ role: 'user', content }])).text, 'pictures: 1')
})
await row('abort', async () => {
  const stop = new AbortController()
  await assert.rejects(async () => {
    for await (const piece of await model('slow').stream('hi', { signal: stop.signal })) if (piece.text) stop.abort()
    throw new Error('it ended')
  })
  await aborted()
})
await row('errors', () => assert.rejects(model('plian').invoke('hi'), /did you mean/))
