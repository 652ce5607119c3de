// Runs an OpenID Connect provider, and prints its address. Its argument is where it sends browsers back.
// People sign in by their name alone; it says of each what the table has.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const people = {
  ann: { email: "Ann@example.com", email_verified: true, groups: ["board"] },
  bob: { email: "ann@example.com", email_verified: false, groups: [] }, // he says that he is she
  carl: { email: "carl@example.com", email_verified: true, groups: ["staff"] },
};

const server = createServer();
await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "etui", client_secret: "the-client-secret", redirect_uris: [process.argv[2]], response_types: ["code"], grant_types: ["authorization_code"] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
  scopes: ["openid", "email", "profile", "groups"],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  pkce: { required: () => true },
});
server.on("request", provider.callback());
console.log(issuer);
