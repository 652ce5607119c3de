// A server with one tool, note, which adds a text to the file $DIARY and returns it all.
const fs = require("fs"), lines = require("readline").createInterface({input: process.stdin});
const reply = (id, result) => console.log(JSON.stringify({jsonrpc: "2.0", id, result}));
const note = {name: "note", description: "Saves a note.", inputSchema: {type: "object", properties: {text: {type: "string"}}}};
lines.on("line", (line) => {
  const {id, method, params} = JSON.parse(line);
  if (method === "initialize") reply(id, {protocolVersion: "2025-06-18", capabilities: {tools: {}}, serverInfo: {name: "diary", version: "1"}});
  else if (method === "tools/list") reply(id, {tools: [note]});
  else if (method === "tools/call") {
    fs.appendFileSync(process.env.DIARY, params.arguments.text + "\n");
    reply(id, {content: [{type: "text", text: fs.readFileSync(process.env.DIARY, "utf8")}]});
  } else if (id !== undefined) console.log(JSON.stringify({jsonrpc: "2.0", id, error: {code: -32601, message: "no"}}));
});
