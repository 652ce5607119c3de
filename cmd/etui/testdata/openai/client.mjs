// Drives a gateway with OpenAI's own client. Prints what it got as JSON, and ends
// with code 1 when anything is not as OpenAI's API has it.
import assert from 'node:assert/strict'
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: process.argv[2] + '/v1', apiKey: 'none', maxRetries: 0 })
const ask = (content) => [{ role: 'user', content }]

const models = []
for await (const m of client.models.list()) models.push(m.id)
assert.deepEqual(models, ['main'])

const whole = await client.chat.completions.create({ model: 'main', messages: ask('weather in Berlin?') })
assert.equal(whole.object, 'chat.completion')
assert.equal(whole.choices[0].finish_reason, 'stop')
assert.match(whole.choices[0].message.content, /I called get_weather.*Berlin/)
assert.ok(whole.usage.prompt_tokens > 0 && whole.usage.total_tokens > whole.usage.prompt_tokens)

let streamed = '', pieces = 0, reason, usage
const stream = await client.chat.completions.create({
  model: 'main', stream: true, stream_options: { include_usage: true }, messages: ask('show me the error logs of the checkout pod in namespace prod'),
})
for await (const chunk of stream) {
  pieces++
  streamed += chunk.choices[0]?.delta?.content ?? ''
  reason = chunk.choices[0]?.finish_reason ?? reason
  usage = chunk.usage ?? usage
}
assert.match(streamed, /I called get_pod_logs/)
assert.match(streamed, /ERROR/)
assert.ok(pieces > 3, 'the answer came in one piece')
assert.equal(reason, 'stop')
assert.ok(usage.total_tokens > 0)

// The client's own helper puts a stream together again.
const final = await client.chat.completions.stream({ model: 'main', messages: ask('你好') }).finalContent()
assert.match(final, /离线模型/)

// A conversation that the client tells, and one that the gateway keeps.
const told = await client.chat.completions.create({ model: 'main', messages: [...ask('hi'), { role: 'assistant', content: 'Hello!' }, ...ask('convert 100 USD to EUR')] })
assert.match(told.choices[0].message.content, /100.*USD/)
const headers = { 'X-Etui-Session': 'npm', 'X-Etui-User': 'ann' }
const first = await client.chat.completions.create({ model: 'main', messages: ask('show me the logs of a pod') }, { headers })
assert.match(first.choices[0].message.content, /I need: .*pod/)
const second = await client.chat.completions.create({ model: 'main', messages: ask('namespace prod and pod checkout') }, { headers })
assert.match(second.choices[0].message.content, /I called get_pod_logs/)

// Pictures are parts of a message. The offline model cannot see, and says so.
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC' } }
const pictured = await client.chat.completions.create({ model: 'main', messages: ask([{ type: 'text', text: 'weather in Berlin?' }, image]) })
assert.match(pictured.choices[0].message.content, /I called get_weather.*Berlin/)
const alone = await client.chat.completions.create({ model: 'main', messages: ask([image]) })
assert.match(alone.choices[0].message.content, /picture image\/png, 1 kB: this model cannot see pictures/)
const remote = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
await assert.rejects(client.chat.completions.create({ model: 'main', messages: ask([remote]) }), (e) => {
  assert.ok(e instanceof OpenAI.BadRequestError)
  assert.equal(e.param, 'messages')
  assert.match(e.message, /picture|web_fetch|address/)
  return true
})

await assert.rejects(client.chat.completions.create({ model: 'mian', messages: ask('hi') }), (e) => {
  assert.ok(e instanceof OpenAI.NotFoundError)
  assert.match(e.message, /did you mean "main"/)
  return true
})
await assert.rejects(client.chat.completions.create({ model: 'main', messages: ask('hi'), tools: [{ type: 'function', function: { name: 'a b' } }] }), OpenAI.BadRequestError)

// Errors have OpenAI's whole shape.
const failure = async (call) => { try { await call() } catch (e) { return e } assert.fail('it did not fail') }
const missing = await failure(() => client.models.retrieve('mian'))
assert.ok(missing instanceof OpenAI.NotFoundError)
assert.deepEqual([missing.type, missing.code, missing.param], ['invalid_request_error', 'model_not_found', 'model'])
assert.equal((await client.models.retrieve('main')).id, 'main')
const hot = await failure(() => client.chat.completions.create({ model: 'main', messages: ask('hi'), temperature: 7 }))
assert.deepEqual([hot.status, hot.type, hot.code, hot.param], [400, 'invalid_request_error', 'invalid_request', 'temperature'])
const shaped = await failure(() => client.chat.completions.create({ model: 'main', messages: ask('hi'), response_format: { type: 'json_object' } }))
assert.deepEqual([shaped.status, shaped.code, shaped.param], [400, 'unsupported_parameter', 'response_format'])
const odd = await failure(() => client.chat.completions.create({ model: 'main', messages: 7 }))
assert.equal(odd.status, 400)
assert.doesNotMatch(odd.message, /Go |completion[A-Z]/)
const elsewhere = await failure(() => client.embeddings.create({ model: 'main', input: 'x', encoding_format: 'float' }))
assert.deepEqual([elsewhere.status, elsewhere.code], [404, 'no_route'])
const method = await failure(() => client.delete('/models'))
assert.deepEqual([method.status, method.code], [405, 'method_not_allowed'])
const cut = await client.chat.completions.create({ model: 'main', messages: ask('weather in Berlin?'), max_completion_tokens: 5, temperature: 0, seed: 1 })
assert.equal(cut.choices[0].finish_reason, 'length')

console.log(JSON.stringify({ models, whole: whole.choices[0].message.content, pieces }))
