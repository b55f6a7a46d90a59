import { policyFor } from "../../functions/http/policy.ts";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { SCOPES, type Scope } from "../../lib/contract/schemas.ts";
import { applicationId, keyId } from "../../lib/identifiers.ts";

const STAGE = "arn:aws:execute-api:eu-west-1:123456789012:abcdef1234/live";
const policy = (scopes: readonly Scope[], route: string) =>
  policyFor(
    {
      outcome: "authorized",
      applicationIdentifier: applicationId("0198c0de-0000-7000-8000-000000000001"),
      keyIdentifier: keyId("0123456789abcdef"),
      scopes,
    },
    `${STAGE}/${route}`,
  );

const LINK_ANDROID = `${STAGE}/POST/v1/customers/android-store/link`;
const LINK_IOS = `${STAGE}/POST/v1/customers/ios-store/link`;
const READ = `${STAGE}/GET/v1/customers/*/entitlements`;

test.each([
  ["customers:write", ["customers:write"], [LINK_ANDROID, LINK_IOS]],
  ["entitlements:read", ["entitlements:read"], [READ]],
  ["both scopes", ["customers:write", "entitlements:read"], [LINK_ANDROID, LINK_IOS, READ]],
] as const)(
  "%s: every route of the key's scopes is allowed, whichever was requested",
  (_, scopes, routes) => {
    const given: ReadonlySet<Scope | null> = new Set<Scope>(scopes);
    const all = Object.values<Endpoint>(endpoints).filter(({ scope }) => given.has(scope));
    for (const route of ["GET/v1/customers/a/entitlements", "POST/v1/customers/ios-store/link"]) {
      const [statement, ...others] = policy(scopes, route).policyDocument.Statement;
      expect(others).toEqual([]);
      expect(statement).toMatchObject({ Action: "execute-api:Invoke", Effect: "Allow" });
      const allowed = statement !== undefined && "Resource" in statement ? statement.Resource : [];
      expect(allowed).toHaveLength(all.length);
      expect(allowed).toEqual(expect.arrayContaining([...routes]));
    }
  },
);

test("a key without scopes is denied everything", () => {
  expect(policy([], "GET/v1/customers/a/entitlements").policyDocument.Statement).toEqual([
    { Action: "execute-api:Invoke", Effect: "Deny", Resource: `${STAGE}/*` },
  ]);
});

test("the context holds the application and the key identifier", () => {
  expect(policy(["entitlements:read"], "GET/v1/customers/a/entitlements")).toMatchObject({
    principalId: "0123456789abcdef",
    context: {
      applicationIdentifier: "0198c0de-0000-7000-8000-000000000001",
      keyIdentifier: "0123456789abcdef",
    },
  });
});

test("the context names the scopes that the key lacks", () => {
  const missing = (scopes: readonly Scope[]) =>
    String(policy(scopes, "GET/v1/customers/a/entitlements").context?.["missingScopes"]).split(", ");
  expect(missing(["entitlements:read"])).toEqual(SCOPES.filter((scope) => scope !== "entitlements:read"));
  expect(missing(SCOPES)).toEqual([""]);
});
