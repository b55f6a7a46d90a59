import { policyFor } from "../../functions/http/policy.ts";
import type { Scope } from "../../lib/contract/schemas.ts";
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
const FEED = `${STAGE}/GET/v1/changes`;

test.each<[scopes: readonly Scope[], routes: readonly string[]]>([
  [["customers:write"], [LINK_ANDROID, LINK_IOS]],
  [["entitlements:read"], [READ]],
  [
    ["customers:write", "entitlements:read", "changes:read"],
    [LINK_ANDROID, LINK_IOS, READ, FEED],
  ],
])("%j: every route of the key's scopes is allowed, whichever was requested", (scopes, routes) => {
  for (const route of ["GET/v1/customers/a/entitlements", "POST/v1/customers/ios-store/link"])
    expect(policy(scopes, route)).toEqual({
      principalId: "0123456789abcdef",
      policyDocument: {
        Version: "2012-10-17",
        Statement: [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: routes }],
      },
      context: {
        applicationIdentifier: "0198c0de-0000-7000-8000-000000000001",
        keyIdentifier: "0123456789abcdef",
        scopes: scopes.join(", "),
      },
    });
});

test("a key without scopes is denied everything", () => {
  expect(policy([], "GET/v1/customers/a/entitlements").policyDocument.Statement).toEqual([
    { Action: "execute-api:Invoke", Effect: "Deny", Resource: `${STAGE}/*` },
  ]);
});
