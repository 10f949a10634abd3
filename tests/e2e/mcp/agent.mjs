// SPDX-License-Identifier: MIT
// An agent of the official SDK: makes a session, builds something in it from files of the host, forks it, takes the result
// out, destroys all, and reads the audit log. What the server sends is held to the protocol's own schemas by the SDK, and
// here once more. Says what it found as one line of JSON.
//   agent.mjs ERA FILES PROGRAM [WORD...]
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as schemas from '@modelcontextprotocol/core';

const [era, command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'agent', version: '1' }, era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
const found = { progress: [], errors: [] };
client.onerror = (error) => found.errors.push(error.message);
await client.connect(transport);
found.era = client.getProtocolEra();
found.version = client.getNegotiatedProtocolVersion();

const tools = schemas.ListToolsResultSchema.parse(await client.listTools());
found.tools = tools.tools.map((tool) => tool.name);

async function call(name, parameters, options) {
	const result = schemas.CallToolResultSchema.parse(await client.callTool({ name, arguments: parameters }, options));
	if (result.isError)
		throw new Error(`${name}: ${result.content[0].text}`);
	return result;
}
const got = async (...words) => (await call(...words)).structuredContent;

const { session } = await got('session_create', {});
const run = (...words) => got('exec', { session, command: words });

// A build: sources of the host, a recipe that the agent writes, a program as its product.
await got('copy_in', { session, source: 'src', path: '/tmp/src' });
await got('write_file', { session, path: '/tmp/build.sh', executable: true, content:
	'#!/bin/sh\nset -e\ncd /tmp/src\n{ echo "#!/bin/sh"; sed s/NAME/world/ main.in; } >../hello\nchmod 755 ../hello\necho built\n' });
found.built = (await got('exec', { session, command: ['/tmp/build.sh'], cwd: '/tmp' })).stdout;
found.said = (await run('/tmp/hello')).stdout;
found.read = (await got('read_file', { session, path: '/tmp/hello' })).content;
found.listed = (await got('list_files', { session, path: '/tmp' })).entries.map((entry) => entry.name);

// Too much for an answer: the rest is a resource.
const long = await call('exec', { session, command: ['seq', '1', '20000'] });
const link = long.content.find((part) => part.type === 'resource_link');
const part = schemas.ReadResourceResultSchema.parse(await client.readResource({ uri: `${link.uri}?offset=40000&limit=12` }));
found.part = part.contents[0].text;
found.resources = (await client.listResources()).resources.length;
found.templates = (await client.listResourceTemplates()).resourceTemplates.length;

// A call that is given up when it is told how far it is. (Of one that ends at once the SDK may take the answer before the
// progress that came in front of it, for which it then knows no call.)
const abort = new AbortController();
const give_up = (progress) => {
	found.progress.push(progress.progress);
	abort.abort('enough');
};
const given = client.callTool({ name: 'exec', arguments: { session, command: ['sh', '-c', 'echo begun; exec sleep 1000'] } },
	{ signal: abort.signal, onprogress: give_up });
found.cancelled = await given.then(() => 'answered', () => 'cancelled');

const forked = (await got('session_fork', { session })).sessions[0];
found.forked = (await got('exec', { session: forked, command: ['/tmp/hello'] })).stdout;
await got('copy_out', { session: forked, path: '/tmp/hello', destination: 'hello' });
await got('session_destroy', { session: forked });
await got('session_destroy', { session });
found.left = (await got('session_list', {})).sessions.length;
found.audit = (await got('audit', { session })).lines.map((line) => line.event);

found.unknown = await client.callTool({ name: 'nonesuch', arguments: {} }).then(() => 0, (error) => error.code);
found.wrong = (await client.callTool({ name: 'exec', arguments: { session: 'x', command: ['true'] } })).isError;
await client.close();
console.log(JSON.stringify(found));
