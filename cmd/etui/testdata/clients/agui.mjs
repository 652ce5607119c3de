import assert from 'node:assert/strict'
import { HttpAgent } from '@ag-ui/client'
import { row, url } from './common.mjs'

let threads = 0
const agent = (name) => new HttpAgent({ url: url + '/agui/' + name, threadId: 'thread' + threads++, initialMessages: [{ id: '1', role: 'user', content: 'weather?' }] })
const tools = [{ name: 'weather', description: 'weather of a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]

await row('stream', async () => {
  const a = agent('plain')
  let text = ''
  await a.runAgent({}, { onTextMessageContentEvent: ({ event }) => { text += event.delta } })
  assert.equal(text, 'Hello from the script.')
  assert.equal(a.messages.at(-1).content, 'Hello from the script.')
})
const loop = async (name, count) => {
  const a = agent(name)
  await a.runAgent({ tools })
  const calls = a.messages.flatMap((m) => m.toolCalls ?? [])
  assert.equal(calls.length, count)
  calls.forEach((c, i) => a.addMessage({ id: 'result' + i, role: 'tool', toolCallId: c.id, content: 'sunny' }))
  await a.runAgent({ tools })
  assert.match(a.messages.at(-1).content, /sunny/)
}
await row('tools', () => loop('weather', 1))
await row('parallel', () => loop('parallel', 2))
await row('errors', async () => {
  await assert.rejects(agent('plian').runAgent(), /404/)
  let failed
  await agent('busy').runAgent({}, { onRunErrorEvent: ({ event }) => { failed = event.message } }).catch((e) => { failed = String(e) })
  assert.ok(failed)
})
