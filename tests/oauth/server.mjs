// An authorization server that others wrote (oidc-provider), and behind it an MCP server with notes. For tests.
//
//   node server.mjs '{"modules": "…/node_modules", …}'    prints one line: {"issuer": …, "url": …}
//
//   registers      clients may register themselves; default true
//   denies         nobody is let in
//   scopes         those that there are besides "openid offline_access notes:read notes:write"
//   tls            {"certificate": FILE, "key": FILE, "clients": FILE}: its own host is `localhost`, and tokens are given only to who
//                  has a certificate of that authority
//   devicesOnly    what it publishes names no place for browsers
//
// POST /control at the issuer: {"refuse": true} access tokens given so far are not taken any more, {"revoke": true} refresh
// tokens neither, {"forget": true} clients that registered are not known any more. GET /control tells what happened.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The provider has much to say about a configuration that is only for tests.
console.info = console.warn = () => {};

const spec = JSON.parse(process.argv[2]);
const { Provider } = await import(pathToFileURL(join(spec.modules, "oidc-provider/lib/index.js")));

const listening = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(server.address().port)));
const json = (response, status, value, headers = {}) => {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(value));
};
const read = async (request) => {
  let text = "";
  for await (const part of request) text += part;
  return text ? JSON.parse(text) : {};
};

// What the provider keeps, where the tests can take it away.
const kept = new Map();
class Store {
  constructor(kind) {
    if (!kept.has(kind)) kept.set(kind, new Map());
    this.all = kept.get(kind);
  }
  async upsert(id, value) { this.all.set(id, value); }
  async find(id) { return this.all.get(id); }
  async findByUid(uid) { return [...this.all.values()].find((value) => value.uid === uid); }
  async findByUserCode(code) { return [...this.all.values()].find((value) => value.userCode === code); }
  async consume(id) { const value = this.all.get(id); if (value) value.consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { this.all.delete(id); }
  async revokeByGrantId(grantId) {
    for (const [id, value] of this.all) if (value.grantId === grantId) this.all.delete(id);
  }
}

const told = { registrations: 0, grants: [], failures: [], resources: [], calls: [], revocations: 0 };
let refused = new Set();

const secure = spec.tls && {
  cert: readFileSync(spec.tls.certificate), key: readFileSync(spec.tls.key), ca: readFileSync(spec.tls.clients),
  requestCert: true, rejectUnauthorized: false,
};
const authorization = secure ? createSecureServer(secure) : createServer();
const resource = createServer();
const port = await listening(authorization);
const issuer = secure ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
const url = `http://127.0.0.1:${await listening(resource)}/mcp`;

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const provider = new Provider(issuer, {
  adapter: Store,
  clients: [{
    client_id: "known-client", client_secret: "known-client-secret-4711", application_type: "native",
    redirect_uris: ["http://127.0.0.1/callback"], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
    token_endpoint_auth_method: "client_secret_basic",
  }, {
    client_id: "machine", client_secret: "machine-secret-0815", grant_types: ["client_credentials"], redirect_uris: [], response_types: [],
    token_endpoint_auth_method: "client_secret_post",
  }, {
    client_id: "machine-of-basic", client_secret: "machine-secret-0816", grant_types: ["client_credentials"], redirect_uris: [],
    response_types: [], scope: "notes:read",
  }, {
    client_id: "known-device", client_secret: "known-device-secret-4712", grant_types: [deviceGrant, "refresh_token"],
    redirect_uris: [], response_types: [],
  }],
  scopes: ["openid", "offline_access", "notes:read", "notes:write", ...(spec.scopes ?? [])],
  cookies: { keys: ["only for tests"] },
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: spec.registers !== false },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, indicator) => {
        told.resources.push(indicator);
        return { scope: "notes:read notes:write", audience: indicator, accessTokenFormat: "opaque", accessTokenTTL: 3600 };
      },
    },
  },
});
provider.use(async (ctx, next) => {
  await next();
  // It does not say how often it may be asked, and a test does not want to wait.
  if (ctx.body?.device_code) ctx.body.interval = 1;
  if (spec.devicesOnly && ctx.path.startsWith("/.well-known/")) delete ctx.body?.authorization_endpoint;
});
provider.on("registration_create.success", () => told.registrations++);
provider.on("grant.success", (ctx) => told.grants.push(ctx.oidc.params.grant_type));
provider.on("grant.error", (_, error) => told.failures.push(error.error));
provider.on("refresh_token.destroyed", () => told.revocations++);
provider.on("server_error", (_, error) => console.error(error));

// A person who agrees to all, or to nothing.
async function interact(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  const finish = (result) => provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  if (spec.denies) return finish({ error: "access_denied", error_description: "Ann said no" });
  if (prompt.name === "login") return finish({ login: { accountId: "ann" } });
  const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope, missingResourceScopes } = prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
  for (const [indicator, scopes] of Object.entries(missingResourceScopes ?? {})) grant.addResourceScope(indicator, scopes.join(" "));
  return finish({ consent: { grantId: await grant.save() } });
}

async function control(request, response) {
  if (request.method === "GET") return json(response, 200, told);
  const wanted = await read(request);
  if (wanted.refuse || wanted.revoke) for (const id of kept.get("AccessToken")?.keys() ?? []) refused.add(id);
  if (wanted.revoke) kept.get("RefreshToken")?.clear();
  if (wanted.forget) kept.get("Client")?.clear();
  json(response, 200, {});
}

// An API whose /notes wants "notes:write", and /silent as well, but it does not say so.
async function notes(request, response) {
  const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  const token = given && await provider.AccessToken.find(given) || given && await provider.ClientCredentials.find(given);
  if (!token) return json(response, 401, {}, { "WWW-Authenticate": "Bearer" });
  if (token.scope?.split(" ").includes("notes:write")) return json(response, 200, { scope: token.scope });
  const said = { "WWW-Authenticate": 'Bearer error="insufficient_scope", scope="notes:write"' };
  json(response, 403, { message: "not you" }, request.url === "/notes" ? said : {});
}

const provide = provider.callback();
authorization.on("request", (request, response) => {
  if (secure && request.url === "/token" && !request.socket.authorized) {
    return json(response, 401, { error: "invalid_client", error_description: "no certificate" });
  }
  const work = request.url.startsWith("/interaction/") ? interact : request.url === "/control" ? control
    : ["/notes", "/silent"].includes(request.url) ? notes : provide;
  Promise.resolve(work(request, response)).catch((error) => {
    console.error(error);
    if (!response.headersSent) json(response, 500, { error: "server_error" });
  });
});

const metadata = new URL("/.well-known/oauth-protected-resource/mcp", url).href;
const challenge = (error, scope) => ({
  "WWW-Authenticate": `Bearer ${error ? `error="${error}", ` : ""}resource_metadata="${metadata}", scope="${scope}"`,
});
const tools = ["whoami", "write_note", "echo_token"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));

async function serve(request, response) {
  if (request.url.startsWith("/.well-known/oauth-protected-resource")) {
    return json(response, 200, { resource: url, authorization_servers: [issuer], scopes_supported: ["notes:read", "notes:write"] });
  }
  if (!request.url.startsWith("/mcp")) return json(response, 404, {});
  const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  const token = given && !refused.has(given) ? await provider.AccessToken.find(given) : undefined;
  if (!token || token.isExpired || token.aud !== url) {
    return json(response, 401, {}, challenge(given && "invalid_token", "notes:read"));
  }
  if (request.method !== "POST") return json(response, 405, {});
  const message = await read(request);
  const name = message.params?.name;
  if (name === "write_note" && !token.scope?.split(" ").includes("notes:write")) {
    return json(response, 403, {}, challenge("insufficient_scope", "notes:write"));
  }
  if (name) told.calls.push(name);
  if (message.id === undefined) return response.writeHead(202).end();
  const answer = (result) => json(response, 200, { jsonrpc: "2.0", id: message.id, result });
  const text = (value) => answer({ content: [{ type: "text", text: JSON.stringify(value) }] });
  switch (message.method) {
    case "initialize":
      return answer({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } });
    case "tools/list":
      return answer({ tools });
    case "tools/call":
      return text(name === "echo_token" ? { token: given } : { who: token.accountId, scope: token.scope, aud: token.aud });
    default:
      return json(response, 200, { jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "unknown method" } });
  }
}
resource.on("request", (request, response) => {
  serve(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) json(response, 500, {});
  });
});
console.log(JSON.stringify({ issuer, url }));
