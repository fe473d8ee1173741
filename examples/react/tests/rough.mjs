// A tool server made with the protocol's own kit: each call writes a line into a file. `die` ends
// the server before it has answered. Arguments: the folder of the kit, and the file.
import { appendFileSync } from "node:fs";

const [kit, notes] = process.argv.slice(2);
const { Server } = await import(`${kit}/server/index.js`);
const { StdioServerTransport } = await import(`${kit}/server/stdio.js`);
const { CallToolRequestSchema, ListToolsRequestSchema } = await import(`${kit}/types.js`);

const inputSchema = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};
const tools = ["append", "die", "file"].map((name) => ({
  name,
  description: "Writes a line.",
  inputSchema,
}));

const server = new Server({ name: "rough", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
  appendFileSync(notes, `${params.arguments.text}\n`);
  if (params.name === "die") process.exit(1);
  return { content: [{ type: "text", text: `wrote ${params.arguments.text}` }] };
});
await server.connect(new StdioServerTransport());
