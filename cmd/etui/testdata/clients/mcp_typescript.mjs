import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { row, url } from './common.mjs'

const client = new Client({ name: 'test', version: '1' })
await client.connect(new StreamableHTTPClientTransport(new URL(url + '/mcp/plain')))
const call = (name, args) => client.callTool({ name, arguments: args })
await row('tools', async () => {
  assert.deepEqual((await client.listTools()).tools.map((t) => t.name), ['call_tool', 'describe_tools', 'find_tools'])
  assert.match((await call('find_tools', { queries: ['read a file'] })).content[0].text, /read_file/)
  assert.match((await call('call_tool', { name: 'read_file', arguments: { path: 'note.txt' } })).content[0].text, /A short note\./)
})
await row('errors', async () => assert.ok((await call('call_tool', { name: 'reed_file', arguments: {} })).isError))
await client.close()
