// Drives a gateway with the clients of OpenAI and Anthropic, which bring tools of their own: read_file
// has the name of one of etui's. The script of the model reads a note with etui's, and two files with
// the client's. Prints what it did, and ends with code 1 when anything is not as the API has it.
import assert from 'node:assert/strict'
import OpenAI from 'openai'
import Anthropic from '@anthropic-ai/sdk'

const url = process.argv[2]
const openai = new OpenAI({ baseURL: url + '/v1', apiKey: 'none', maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 })
const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const description = 'Read a file on the machine of the user'
const read = ({ path }) => 'the text of ' + path
const end = /The note is short, and both files were read\./
const question = { role: 'user', content: 'Read a.txt and b.txt.' }
const paths = (calls) => calls.map((c) => JSON.parse(c).path)

async function chat (stream) {
  const tools = [{ type: 'function', function: { name: 'read_file', description, parameters } }]
  const messages = [question]
  const ask = async () => {
    const body = { model: 'main', tools, messages }
    const c = stream ? await openai.chat.completions.stream(body).finalChatCompletion() : await openai.chat.completions.create(body)
    return c.choices[0]
  }
  const first = await ask()
  assert.equal(first.finish_reason, 'tool_calls')
  assert.deepEqual(paths(first.message.tool_calls.map((c) => c.function.arguments)), ['a.txt', 'b.txt'])
  messages.push(first.message)
  for (const c of first.message.tool_calls) {
    messages.push({ role: 'tool', tool_call_id: c.id, content: read(JSON.parse(c.function.arguments)) })
  }
  const last = await ask()
  assert.equal(last.finish_reason, 'stop')
  assert.match(last.message.content, end)
}

async function responses (stream, kept) {
  const tools = [{ type: 'function', name: 'read_file', description, parameters, strict: false }]
  const ask = async (input, previous) => {
    const body = { model: 'main', tools, input, store: kept, previous_response_id: previous }
    return stream ? await openai.responses.stream(body).finalResponse() : await openai.responses.create(body)
  }
  const first = await ask([question])
  assert.equal(first.status, 'completed')
  const calls = first.output.filter((o) => o.type === 'function_call')
  assert.deepEqual(paths(calls.map((c) => c.arguments)), ['a.txt', 'b.txt'])
  const outputs = calls.map((c) => ({ type: 'function_call_output', call_id: c.call_id, output: read(JSON.parse(c.arguments)) }))
  const last = kept ? await ask(outputs, first.id) : await ask([question, ...first.output, ...outputs])
  assert.match(last.output.find((o) => o.type === 'message').content[0].text, end)
  assert.ok(last.usage.total_tokens >= 0)
}

async function messages (stream) {
  const tools = [{ name: 'read_file', description, input_schema: parameters }]
  const said = [question]
  const ask = async () => {
    const body = { model: 'main', max_tokens: 1000, tools, messages: said }
    return stream ? await anthropic.messages.stream(body).finalMessage() : await anthropic.messages.create(body)
  }
  const first = await ask()
  assert.equal(first.stop_reason, 'tool_use')
  const calls = first.content.filter((b) => b.type === 'tool_use')
  assert.deepEqual(calls.map((c) => c.input.path), ['a.txt', 'b.txt'])
  said.push({ role: 'assistant', content: first.content })
  said.push({ role: 'user', content: calls.map((c) => ({ type: 'tool_result', tool_use_id: c.id, content: read(c.input) })) })
  const last = await ask()
  assert.equal(last.stop_reason, 'end_turn')
  assert.match(last.content[0].text, end)
}

for (const stream of [false, true]) {
  await chat(stream)
  await messages(stream)
  await responses(stream, false)
  await responses(stream, true)
}

// What is wrong has the error of the API.
await assert.rejects(openai.chat.completions.create({ model: 'main', messages: [question, { role: 'tool', tool_call_id: 'call_1', content: 'x' }] }), (e) => {
  assert.ok(e instanceof OpenAI.BadRequestError)
  assert.equal(e.param, 'messages[1].tool_call_id')
  assert.ok(e.requestID)
  return true
})
await assert.rejects(openai.responses.create({ model: 'main', input: 'go on', previous_response_id: 'resp_none' }), OpenAI.BadRequestError)
await assert.rejects(anthropic.messages.create({ model: 'mian', max_tokens: 5, messages: [question] }), (e) => {
  assert.ok(e instanceof Anthropic.NotFoundError)
  assert.ok(e.requestID)
  return true
})
const listed = []
for await (const m of anthropic.models.list()) listed.push(m.id)
assert.deepEqual(listed, ['main'])
assert.ok((await anthropic.messages.countTokens({ model: 'main', messages: [question] })).input_tokens > 0)

// A client that goes away ends its turn, and the next request works.
const gone = openai.chat.completions.stream({ model: 'main', messages: [question] })
gone.abort()
await gone.done().catch(() => {})
await chat(false)
console.log('read a.txt and b.txt over chat completions, responses and messages, whole and streamed')
