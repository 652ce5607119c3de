import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { row, url } from './common.mjs'

const ask = (...args) => JSON.parse(execFileSync('node_modules/.bin/mcp-inspector', ['--cli', url + '/mcp/plain', '--transport', 'http', ...args]))
await row('tools', () => {
  assert.deepEqual(ask('--method', 'tools/list').tools.map((t) => t.name), ['call_tool', 'describe_tools', 'find_tools'])
  const said = ask('--method', 'tools/call', '--tool-name', 'call_tool', '--tool-arg', 'name=read_file', '--tool-arg', 'arguments={"path":"note.txt"}')
  assert.match(said.content[0].text, /A short note\./)
})
await row('errors', () => assert.ok(ask('--method', 'tools/call', '--tool-name', 'call_tool', '--tool-arg', 'name=reed_file').isError))
